// What a request takes of a host wherever on it its NICs go.
import { pciClass } from '../network/index.ts';
import type { Amounts, ScheduleRequest } from './request.ts';

/** The amounts that were asked for, and a device for each NIC that asks for one. */
export function amountsOf({ amounts, nics }: ScheduleRequest): Amounts {
  if (nics.every(({ pciRequest }) => pciRequest === undefined)) return amounts;
  const resources = { ...amounts.resources };
  for (const { pciRequest } of nics) {
    if (pciRequest === undefined) continue;
    const resource = pciClass(pciRequest);
    resources[resource] = (resources[resource] ?? 0) + 1;
  }
  return { ...amounts, resources };
}
