// Crews: tenants of a test only, which live inside instances as workers of a cluster do. A crew drains, and holds its instance until it has gone.
import { Type, type Static } from 'typebox';
import { defineRepresentation, noProject, wholeFleet } from '../../../src/access/index.ts';
import { compose, contribute, type Composition, type Module } from '../../../src/composition/index.ts';
import { idOf, put, schemaKind, type Change, type FleetReader, type Index } from '../../../src/fleet/index.ts';
import {
  EVACUATORS,
  runInOneStep,
  type BeginEvacuation,
  type Evacuator,
  type PlannedEvacuation,
} from '../../../src/hosts/index.ts';
import { INSTANCE_HOLDS } from '../../../src/instances/index.ts';
import { MODULES } from '../../../src/main/modules.ts';
import {
  newOperation,
  OPERATION,
  record,
  wait,
  type Driver,
  type OperationKind,
} from '../../../src/operations/index.ts';

const FIELDS = { host: Type.String(), state: Type.Enum(['at-work', 'draining', 'gone']) };
const SCHEMA = Type.Object(FIELDS, { additionalProperties: false });
type Crew = Static<typeof SCHEMA>;

/** By the name of the instance that it lives in. */
const CREW = schemaKind('crew', SCHEMA);
const CREWS_BY_HOST: Index<'crew', Crew> = { name: 'crews-by-host', kind: CREW, keysOf: ({ host }) => [host] };

const RETRY_MS = 5000;

/** Crews that do not go, by the name of their instance. */
export type BlockedCrews = Set<string>;

export function crew(instance: string, host: string): Change {
  return put(CREW, idOf(CREW, instance), { host, state: 'at-work' });
}

export function crewState(fleet: FleetReader, instance: string): Crew['state'] | undefined {
  return fleet.get(CREW, idOf(CREW, instance))?.doc.state;
}

function crewsOn(fleet: FleetReader, host: string, ...states: readonly Crew['state'][]) {
  return [...fleet.find(CREWS_BY_HOST, host)].filter(({ doc }) => states.includes(doc.state));
}

const tenantOf = ({ id }: { readonly id: string }) => ({ kind: CREW.name, id });

const crewEvacuator: Evacuator = {
  name: 'crews',
  moveKinds: ['crew-drain'],
  typicalMoveMs: 60_000,
  dependsOn: [CREWS_BY_HOST],
  inventory: (fleet, host) => crewsOn(fleet, host, 'at-work', 'draining').map(tenantOf),
  listRemainingTenants: (fleet, host) => crewsOn(fleet, host, 'at-work').map(tenantOf),
  countLeaving: () => 0,
  countDraining: (fleet, host) => crewsOn(fleet, host, 'draining').length,
  plan: (_openTrial, leavers) =>
    runInOneStep(
      leavers.flatMap(({ host, tenants }) =>
        tenants.map((tenant): PlannedEvacuation => ({ host, tenant, evacuation: { kind: 'drain' } })),
      ),
    ),
  begin: (_fleet, planned, how) => runInOneStep({ changes: beginDrains(planned, how) }),
  hostsAffectedBy: ({ kind, after }) => (kind === CREW.name && after !== undefined ? [(after.doc as Crew).host] : []),
  abandon: () => [],
};

function beginDrains(
  planned: readonly PlannedEvacuation[],
  { operation, by, nowMs, deadlineMs }: BeginEvacuation,
): Change[] {
  const items = planned.map(({ tenant: { id } }) => ({ key: id, target: { kind: CREW.name, id }, step: 'drain' }));
  const id = idOf(OPERATION, `${operation}.crew-drains`);
  return [
    ...planned.map(({ host, tenant }) => put(CREW, idOf(CREW, tenant.id), { host, state: 'draining' })),
    ...newOperation({ id, kind: 'crew-drain', title: 'drain crews', by, nowMs, deadlineMs, items }),
  ];
}

const crewDrain: OperationKind = {
  name: 'crew-drain',
  steps: ['drain'],
  cancel: { kind: 'none', because: 'of the test' },
  retry: { kind: 'none', because: 'of the test' },
  plan: (_fleet, items, nowMs) =>
    items.flatMap((item) => {
      const { step, attempt, target, retryAtMs = 0 } = item.doc;
      if (retryAtMs > nowMs) return [];
      const action = { driver: 'crews', item: item.id, step, attempt, args: { crew: target.id } };
      return { kind: 'act', item: item.id, expected: item.revision, action };
    }),
  observe: (item, outcome, { fleet, nowMs }) => {
    if (outcome.kind === 'failed') return wait(item, outcome.reason, nowMs + RETRY_MS);
    const found = fleet.get(CREW, idOf(CREW, item.doc.target.id));
    const changes = found === undefined ? [] : [put(CREW, found.id, { ...found.doc, state: 'gone' as const })];
    return record(item, { state: 'done', step: 'drain' }, { changes });
  },
};

function crewDriver(blocked: BlockedCrews): Driver {
  return {
    carryOut: async ({ args }) => {
      const name = String(args['crew']);
      return blocked.has(name) ? { kind: 'failed', reason: { code: 'crew-blocked', crew: name } } : { kind: 'applied' };
    },
  };
}

/** This program, with crews. */
export function programWithCrews(blocked: BlockedCrews): Composition {
  const crews: Module = {
    name: 'crews',
    models: () => [{ kinds: [CREW], indexes: [CREWS_BY_HOST] }],
    operationKinds: () => [crewDrain],
    contributions: [
      contribute(EVACUATORS, crewEvacuator),
      contribute(INSTANCE_HOLDS, (fleet, { id }) => {
        const state = crewState(fleet, id);
        return state === undefined || state === 'gone' ? undefined : { code: 'crew-leaves-first', instance: id };
      }),
    ],
    reasonCodes: ['crew-blocked', 'crew-leaves-first'],
    sentences: [
      {
        'crew-blocked': ({ crew: name }) => `The crew of ${String(name)} does not go.`,
        'crew-leaves-first': ({ instance }) => `The crew of ${String(instance)} leaves before the instance does.`,
      },
    ],
    representations: () => [
      defineRepresentation({ kind: CREW, siteOf: wholeFleet, projectOf: noProject, fields: FIELDS }),
    ],
    drivers: () => ({ crews: crewDriver(blocked) }),
  };
  return compose([...MODULES, crews]);
}
