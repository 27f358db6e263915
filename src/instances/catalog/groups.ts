// Decides on server groups: instances that are placed together or apart. The policy of a group never changes: its members were placed by it.
import { idOf, put, remove, type FleetReader, type Refusal, type Stored } from '../../fleet/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import { GROUP, INSTANCES_BY_GROUP, type ServerGroup } from '../model.ts';

export interface CreateGroup extends Pick<ServerGroup, 'name' | 'project' | 'policy' | 'movesAtOnce'> {
  readonly by: string;
  readonly nowMs: number;
}

export function createGroup(fleet: FleetReader, { by, nowMs, ...said }: CreateGroup): Decision<ServerGroup> {
  const id = idOf(GROUP, said.name);
  if (fleet.get(GROUP, id) !== undefined) return refuse(groupExists(said.name));
  const group: ServerGroup = { ...said, changedBy: by, changedAtMs: nowMs };
  return accept([put(GROUP, id, group)], group);
}

export interface EditGroup {
  readonly name: string;
  /** Null clears the limit. */
  readonly movesAtOnce: number | null;
  readonly by: string;
  readonly nowMs: number;
}

/** Only the limit: the members were placed by the policy. */
export function editGroup(fleet: FleetReader, { name, movesAtOnce, by, nowMs }: EditGroup): Decision<ServerGroup> {
  const stored = fleet.get(GROUP, idOf(GROUP, name));
  if (stored === undefined) return refuse(unknownGroup(name));
  const { movesAtOnce: before, ...rest } = stored.doc;
  if ((before ?? null) === movesAtOnce) return accept([], stored.doc);
  const limit = movesAtOnce === null ? {} : { movesAtOnce };
  const group: ServerGroup = { ...rest, ...limit, changedBy: by, changedAtMs: nowMs };
  return accept([put(GROUP, stored.id, group)], group);
}

export function deleteGroup(fleet: FleetReader, name: string): Decision<Stored<'group', ServerGroup>> {
  const stored = fleet.get(GROUP, idOf(GROUP, name));
  if (stored === undefined) return refuse(unknownGroup(name));
  const instances = fleet.countOf(INSTANCES_BY_GROUP, name);
  return instances > 0 ? refuse(groupInUse(name, instances)) : accept([remove(GROUP, stored.id)], stored);
}

export function unknownGroup(name: string, field?: string): Refusal {
  const message = `There is no server group "${name}". List them with "muster groups list".`;
  const at = field === undefined ? {} : { field };
  const kind = field === undefined ? 'not-found' : 'invalid';
  return { kind, code: 'unknown-group', message, ...at, facts: { group: name } };
}

function groupExists(group: string): Refusal {
  const message = `There is a server group "${group}" already. Choose another name, or delete that one first.`;
  return { kind: 'conflict', code: 'group-exists', message, field: '/name', facts: { group } };
}

function groupInUse(group: string, instances: number): Refusal {
  const message = `Server group "${group}" has ${instances === 1 ? 'an instance' : `${instances} instances`}. Delete its instances first; see "muster instances list --group ${group}".`;
  return { kind: 'conflict', code: 'group-in-use', message, facts: { group, instances } };
}
