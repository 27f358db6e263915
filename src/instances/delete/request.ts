// Deletes instances: their builder does it.
import type { FleetReader } from '../../fleet/index.ts';
import type { Decision } from '../../journal/index.ts';
import type { OperationId } from '../../operations/index.ts';
import type { Builders, DeleteInstances } from '../builder.ts';
import { ON_HOSTS } from '../host-builder.ts';

/** All of one builder. */
export function deleteInstances(
  fleet: FleetReader,
  command: DeleteInstances,
  builders: Builders = ON_HOSTS,
): Decision<{ readonly operation: OperationId }> {
  const [builder, ...others] = new Set(command.ids.map((id) => builders.ofInstance(fleet, id)));
  if (builder === undefined || others.length > 0) throw new Error('a deletion is of instances of one builder');
  return builder.beginDeletion(fleet, command);
}
