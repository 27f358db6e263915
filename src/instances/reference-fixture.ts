// Fixture F of the reference as documents, and the models and requests of tests of instances.
import { accessModel } from '../access/index.ts';
import { alarmsModel } from '../alarms/index.ts';
import { idOf, put, SETTING, type Change, type Model } from '../fleet/index.ts';
import {
  hostsModel,
  scaleInEndKind,
  scaleInKind,
  scaleInModel,
  scaleInRecoverKind,
  type Evacuator,
  type Host,
} from '../hosts/index.ts';
import { networkEventsModel, networkModel, portEvacuator, type BackEndName } from '../network/index.ts';
import { host, network, segment, subnet } from '../network/network-fixture.ts';
import type { OperationId, OperationKind } from '../operations/index.ts';
import { SCHEDULER, schedulerModel, SPREADING } from '../scheduler/index.ts';
import { SITE, sitesModel } from '../sites/index.ts';
import { instanceBuild } from './build/operation.ts';
import { instanceClean } from './delete/clean.ts';
import type { CreateInstances } from './build/create.ts';
import { instanceDelete } from './delete/delete.ts';
import { instanceEvacuator } from './evacuation/evacuator.ts';
import { instancesModel } from './fleet-model.ts';
import { FLAVOR, type Flavor } from './model.ts';
import { instanceMove } from './move/operation.ts';
import { instanceRebuild } from './shelve-rebuild/rebuild.ts';
import { instanceRelease } from './delete/release.ts';
import { instanceReplug } from './degraded/replug.ts';
import { instanceShelve } from './shelve-rebuild/shelve-operation.ts';

const CHANGED = { changedBy: 'test', changedAtMs: 0 };

/** As long as nothing lives inside instances. */
export const INSTANCE_EVACUATOR = instanceEvacuator([]);

export const EVACUATORS: readonly Evacuator[] = [INSTANCE_EVACUATOR, portEvacuator];

export const KINDS: ReadonlyMap<string, OperationKind> = new Map(
  [
    instanceBuild,
    instanceClean,
    instanceRelease,
    instanceDelete,
    instanceMove,
    instanceRebuild,
    instanceReplug,
    instanceShelve,
    scaleInKind(EVACUATORS),
    scaleInEndKind({ evacuators: EVACUATORS, peersOf: () => [] }),
    scaleInRecoverKind(EVACUATORS),
  ].map((one) => [one.name, one]),
);

/** Everything but operations, which the torture kit brings itself. */
export const MODELS: readonly Model[] = [
  { kinds: [SETTING] },
  sitesModel,
  alarmsModel,
  accessModel,
  hostsModel,
  scaleInModel(EVACUATORS),
  networkModel,
  networkEventsModel,
  schedulerModel,
  instancesModel,
];

/** A host of fixture F, with its memory in GiB. */
export function hostF(name: string, memoryGiB: number, ...segments: string[]): Change {
  const change = host(name, ...segments.map((one) => `phys-${one}`));
  const capacity = { vcpus: 64, memoryMiB: memoryGiB * 1024, diskGiB: 1000, ratios: { vcpus: 1, memory: 1, disk: 1 } };
  return { ...change, doc: { ...(change.doc as Host), capacity } };
}

export function flavor(name: string, facts: Partial<Flavor> = {}): Change {
  const amounts = { vcpus: 1, memoryMiB: 512, diskGiB: 1 };
  const doc: Flavor = { name, ...amounts, requiredTraits: [], forbiddenTraits: [], ...CHANGED, ...facts };
  return put(FLAVOR, idOf(FLAVOR, name), doc);
}

/**
 * Fixture F: hosts h1..h5 with weights that fall, in strict order; routed network `n`; seg0 = {h2, h4, h5}, seg2 = {h3, h5};
 * h1 in none. Flavor `small`.
 */
export function fixtureF(backEnd: BackEndName = 'embedded'): readonly Change[] {
  const weights = Object.fromEntries(Object.keys(SPREADING).map((name) => [name, name === 'memory' ? 1 : 0]));
  const value = { weights, instancesPerHostMax: 0 };
  return [
    put(SITE, idOf(SITE, 'central'), { name: 'central', ...CHANGED }),
    put(SETTING, idOf(SETTING, SCHEDULER.name), { value, ...CHANGED }),
    hostF('h1', 500),
    hostF('h2', 400, 'seg0'),
    hostF('h3', 300, 'seg2'),
    hostF('h4', 200, 'seg0'),
    hostF('h5', 100, 'seg0', 'seg2'),
    network('n', { backEnd }),
    segment('seg0', 'n'),
    segment('seg2', 'n'),
    subnet('sub0', 'n', '10.0.0.0/24', { segment: 'seg0' }),
    subnet('sub2', 'n', '10.2.0.0/24', { segment: 'seg2' }),
    flavor('small'),
  ];
}

/** A request with only a name: one NIC on network `n`. */
export function createCommand(operation: string, nowMs: number, facts: Partial<CreateInstances> = {}): CreateInstances {
  const { name = 'web', count = 1, networks = [{ network: 'n' }] } = facts;
  const nics = typeof networks === 'string' ? 1 : networks.length;
  return {
    name,
    count,
    minCount: count,
    flavor: 'small',
    project: 'default',
    place: {},
    networks,
    operation: operation as OperationId,
    portIds: Array.from({ length: count * nics }, (_, nth) => `${name}-p${nth}`),
    by: 'ann',
    admin: true,
    hasCredentials: true,
    nowMs,
    deadlineMs: 3_600_000,
    ...facts,
  };
}
