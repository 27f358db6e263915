// The amounts that a request takes of a host, wherever its NICs are placed.
import { pciClass } from '../network/index.ts';
import type { Amounts, ScheduleRequest } from './request.ts';

/** The requested amounts, and a device for each NIC with a PCI request. */
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
