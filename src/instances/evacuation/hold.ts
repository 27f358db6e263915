// What lives inside an instance and leaves before the instance does. Modules contribute it: instances do not know what runs in them.
import { extensionPoint } from '../../composition/index.ts';
import type { FleetReader, Reason } from '../../fleet/index.ts';
import type { StoredInstance } from '../build/placement.ts';

/**
 * Why an instance that could leave this host is held there, for now; undefined when nothing holds it. Only this instance waits. The evacuator of what is
 * inside has to name the host among those affected (`hostsAffectedBy`) when it holds no longer.
 */
export type InstanceHold = (fleet: FleetReader, instance: StoredInstance, host: string) => Reason | undefined;

export const INSTANCE_HOLDS = extensionPoint<InstanceHold>('instance-holds');

export function findHold(
  holds: readonly InstanceHold[],
  ...held: readonly [fleet: FleetReader, instance: StoredInstance, host: string]
): Reason | undefined {
  for (const hold of holds) {
    const reason = hold(...held);
    if (reason !== undefined) return reason;
  }
  return undefined;
}
