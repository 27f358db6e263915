// A fleet and tenants for tests of previews: a table lists the tenants, and they move to the active host with the fewest of them.
import { createHash } from 'node:crypto';
import { alarmsModel } from '../../alarms/index.ts';
import { Fleet, idOf, put, Registry, type Change, type FleetReader } from '../../fleet/index.ts';
import { operationsModel } from '../../operations/index.ts';
import { SITE, sitesModel } from '../../sites/index.ts';
import { runInOneStep, type Evacuation, type Evacuator } from '../evacuator.ts';
import { hostsModel } from '../fleet-model.ts';
import { HOST, type Host } from '../model.ts';

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

export function hostChange(said: Partial<Host> & { readonly name: string }): Change {
  const host: Host = {
    site: 'central',
    zone: 'default',
    aggregates: [],
    traits: [],
    physicalNetworks: [],
    baseWeight: 0,
    capacity: { vcpus: 8, memoryMiB: 8, diskGiB: 8, ratios: { vcpus: 1, memory: 1, disk: 1 } },
    state: 'active',
    connection: { state: 'up', sinceMs: 0 },
    serviceVersion: 4,
    changedBy: 'test',
    changedAtMs: 0,
    ...said,
  };
  const problem = HOST.check(host);
  if (problem !== undefined) throw new Error(problem);
  return put(HOST, idOf(HOST, said.name), host);
}

export function fleetOf(...hosts: readonly (string | (Partial<Host> & { readonly name: string }))[]): Fleet {
  const fleet = new Fleet(new Registry([operationsModel, alarmsModel, sitesModel, hostsModel]));
  const site = put(SITE, idOf(SITE, 'central'), { name: 'central', changedBy: 'test', changedAtMs: 0 });
  fleet.apply(1, [site, ...hosts.map((said) => hostChange(typeof said === 'string' ? { name: said } : said))]);
  return fleet;
}

export interface Tenancy {
  readonly name: string;
  readonly kind: string;
  readonly how?: string;
  readonly on: Readonly<Record<string, readonly string[]>>;
  /** Fixed outcomes of some of them, whatever capacity there is. */
  readonly evacuations?: Readonly<Record<string, Evacuation>>;
  readonly leavesFirst?: true;
  readonly aboutMs?: number;
  readonly movedBy?: readonly string[];
}

export function evacuatorOf(tenancy: Tenancy): Evacuator {
  const {
    name,
    kind,
    how = 'live',
    on,
    evacuations = {},
    leavesFirst,
    aboutMs: typicalMoveMs,
    movedBy: moveKinds,
  } = tenancy;
  return {
    name,
    ...(leavesFirst !== undefined && { leavesFirst }),
    ...(typicalMoveMs !== undefined && { typicalMoveMs }),
    ...(moveKinds !== undefined && { moveKinds }),
    ...(Object.values(evacuations).some((one) => one.kind === 'ends') && { canEndWithHost: true as const }),
    dependsOn: [],
    inventory: (_fleet, host) => (on[host] ?? []).toSorted().map((id) => ({ kind, id })),
    countLeaving: () => 0,
    *plan(openTrial, leavers) {
      const fleet = yield* openTrial();
      const room = roomIn(fleet, on);
      return leavers.flatMap(({ host, tenants }) =>
        tenants.map((tenant) => ({ host, tenant, evacuation: evacuations[tenant.id] ?? place(room, how) })),
      );
    },
    begin: () => runInOneStep({ changes: [] }),
    abandon: () => [],
  };
}

function roomIn(fleet: FleetReader, on: Tenancy['on']): Map<string, number> {
  const inService = [...fleet.all(HOST)].filter(({ doc }) => doc.state === 'active');
  return new Map(inService.map(({ id }) => [id, (on[id] ?? []).length]));
}

function place(room: Map<string, number>, how: string): Evacuation {
  const [best] = [...room].sort(([one, few], [other, many]) => few - many || (one < other ? -1 : 1));
  if (best === undefined) return { kind: 'wait', reason: { code: 'no-valid-host' } };
  room.set(best[0], best[1] + 1);
  return { kind: 'move', how, to: best[0] };
}
