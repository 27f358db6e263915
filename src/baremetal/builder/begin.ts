// Begins builds on bare metal: the instance and its ports in the commit that accepts the request, with the manager that is to reserve a node. No node is
// chosen here.
import { idOf, put, type Change, type FleetReader, type Refusal } from '../../fleet/index.ts';
import {
  composeInstance,
  composePorts,
  decideInParts,
  INSTANCE,
  readRequestedInstance,
  type CreatedInstances,
  type CreateInstances,
  type Instance,
  type Preview,
  type RequestedInstance,
  type StageChanges,
  type ValidatedRequest,
} from '../../instances/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import { PORT, wiredPlacesOf, type StoredPort } from '../../network/index.ts';
import { newOperation, type NewItem } from '../../operations/index.ts';
import { chooseNode, countStages, type NodeRequest } from '../matching/choose.ts';
import { parseReservationBody } from '../matching/request.ts';
import { BARE_METAL, BUILD_KIND, RESERVE_STEP } from './names.ts';
import { pickManager } from './pick-manager.ts';
import { composeRequirements } from './reservation-body.ts';

/** No host is concerned, whatever the hosts can do. */
const BY_CONTROL_PLANE: Instance['path'] = { create: 'conductor', bind: 'conductor' };

export function beginOnNodes(
  fleet: FleetReader,
  command: CreateInstances,
  validated: ValidatedRequest,
): Decision<CreatedInstances> {
  const request = { ...validated, path: BY_CONTROL_PLANE };
  const assigned = new Map<string, number>();
  return decideInParts(fleet, request, (seen, show) => {
    const changes: Change[] = [...request.changes];
    const items: NewItem[] = [];
    for (let nth = 0; nth < request.names.length; nth += 1) {
      const one = readRequestedInstance(request, nth);
      const ports = composePorts(seen, command, one, show);
      if ('code' in ports) return refuse(ports);
      const manager = pickManager(fleet, assigned);
      if (manager !== undefined) assigned.set(manager, (assigned.get(manager) ?? 0) + 1);
      const made = composeChanges(command, { one, ports, manager });
      if (nth < request.names.length - 1) show(made);
      changes.push(...made);
      items.push(composeItem(one.name, manager));
    }
    changes.push(...beginBuild(command, items));
    return accept(changes, { operation: command.operation, instances: [...request.names] });
  });
}

interface BegunInstance {
  readonly one: RequestedInstance;
  readonly ports: readonly StoredPort[];
  readonly manager: string | undefined;
}

function composeChanges(command: CreateInstances, { one, ports, manager }: BegunInstance): Change[] {
  const attempts = manager === undefined ? [] : [{ nth: 1, manager, pools: [], atMs: command.nowMs }];
  const doc: Instance = { ...composeInstance(command, one, ports, 1), builder: BARE_METAL, attempts };
  return [put(INSTANCE, idOf(INSTANCE, one.name), doc), ...ports.map((port) => put(PORT, port.id, port.doc))];
}

/** Without a manager it waits for one. */
function composeItem(name: string, manager: string | undefined): NewItem {
  const item = { key: name, target: { kind: INSTANCE.name, id: name }, step: RESERVE_STEP };
  return manager === undefined ? item : { ...item, assignee: manager, state: 'running' };
}

function beginBuild(command: CreateInstances, items: readonly NewItem[]): Change[] {
  const { operation, by, why, nowMs, deadlineMs, project, place } = command;
  const title = items.length === 1 ? `build instance ${items[0]?.key}` : `build ${items.length} instances`;
  return newOperation({
    ...{ id: operation, kind: BUILD_KIND, title, by, why, site: place.site, project, nowMs, deadlineMs },
    items,
  });
}

/** How many would find a node now. Which one is decided when its manager requests it. */
export function previewOnNodes(
  fleet: FleetReader,
  command: CreateInstances,
  validated: ValidatedRequest,
): Preview | Refusal {
  const request = { ...validated, path: BY_CONTROL_PLANE };
  const assigned = new Map<string, number>();
  const except = new Set<string>();
  return decideInParts(fleet, request, (seen, show) => {
    const placed: Preview['placed'][number][] = [];
    for (let nth = 0; nth < request.names.length; nth += 1) {
      const one = readRequestedInstance(request, nth);
      const ports = composePorts(seen, command, one, show);
      if ('code' in ports) return ports;
      const search = composeSearch(seen, command, { one, ports });
      const manager = pickManager(fleet, assigned);
      const node = manager === undefined ? undefined : chooseNode(fleet, { ...search, except });
      if (manager === undefined || node === undefined) return { placed, nodes: countStages(fleet, search) };
      assigned.set(manager, (assigned.get(manager) ?? 0) + 1);
      except.add(node);
      placed.push({ name: one.name, manager, pools: [] });
      if (nth < request.names.length - 1) showPorts(show, ports);
    }
    return { placed };
  });
}

function showPorts(show: StageChanges, ports: readonly StoredPort[]): void {
  show(ports.map((port) => put(PORT, port.id, port.doc)));
}

function composeSearch(
  fleet: FleetReader,
  command: CreateInstances,
  { one, ports }: Omit<BegunInstance, 'manager'>,
): NodeRequest {
  const instance = composeInstance(command, one, ports, 1);
  const body = composeRequirements(one.flavor.bareMetal ?? {}, instance);
  const parsed = parseReservationBody({ ...body, instance_uuid: one.name, manager: 'preview' });
  if (!('requirements' in parsed)) throw new Error(`a valid request for instance ${one.name} is malformed`);
  const { site } = command.place;
  const docs = ports.map(({ doc }) => doc);
  return {
    instance: one.name,
    requirements: {
      ...parsed.requirements,
      ...{ project: command.project, ...(site !== undefined && { site }) },
      physicalNetworkChoices: wiredPlacesOf(fleet, docs).map(({ physicalNetworks }) => physicalNetworks),
    },
  };
}
