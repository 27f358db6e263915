// Elections, handovers, drains and removals with one bug each, like those that were once made.
import { ELECTION_CONTROLLER, SERVICE, type Service } from '../../src/election/index.ts';
import { idOf, put, type Change, type FleetReader } from '../../src/fleet/index.ts';
import { buildPart, HOST, LIVENESS_CONTROLLER, type Host } from '../../src/hosts/index.ts';
import { INSTANCE, type Instance } from '../../src/instances/index.ts';
import type { Journal } from '../../src/journal/index.ts';
import { ITEM } from '../../src/operations/index.ts';
import { epochsGrow, makeBeforeBreak, designatedToEligible } from '../checkers/designations.ts';
import { finalizedOnEvidence, presenceOf, operatorFencedDistrusted } from '../checkers/leaving.ts';
import { commitRateBounded, failuresBackedOff } from '../checkers/commit-rate.ts';
import { removedEverywhere } from '../checkers/switches.ts';
import { SCALE_IN } from '../scenarios.ts';
import { AT_REST, NO_LEFTOVERS } from '../seed-properties.ts';
import { alterSteps, mapFleet, mapDocuments } from './altered-kind.ts';
import type { Mutant } from './mutant.ts';
import { withKinds, withDriver, withViewPart, withRunningPart } from './planting.ts';

/** The bug: the host is designated without a check that it is the standby. */
const STANDBY_ELSEWHERE = 'never: the standby of a service is its designated host';
const NOT_TO_LEAVING = 'never: a designation is set to a tombstoned host while an eligible candidate exists';

/** Changes what is committed, whatever decided it. */
function alterWrites(journal: Journal, written: (change: Change, fleet: FleetReader) => Change): Journal {
  return new Proxy(journal, {
    get: (target, key): unknown => {
      if (key === 'submit') {
        const submit: Journal['submit'] = (request) =>
          target.submit({
            ...request,
            decide: (fleet) => {
              const decision = request.decide(fleet);
              if (decision.kind === 'refuse') return decision;
              return { ...decision, changes: decision.changes.map((change) => written(change, fleet)) };
            },
          });
        return submit;
      }
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

function isLeaving({ state }: Host): boolean {
  return state === 'draining' || state === 'drained';
}

function leavingHost(fleet: FleetReader, service: Service): string | undefined {
  const present = presenceOf(fleet, service);
  return [...fleet.all(HOST)].find(({ id, doc }) => isLeaving(doc) && present.has(id))?.id;
}

export const electionIgnoresTombstones: Mutant = {
  name: 'election-ignores-tombstones',
  bug: 'elections choose a host that is leaving, if one has anything of the service',
  // In others the election that is undone is repeated without end first.
  likely: 6,
  scenario: SCALE_IN,
  caughtBy: [designatedToEligible.name, NOT_TO_LEAVING],
  plant: (parts) =>
    withRunningPart(parts, ELECTION_CONTROLLER, (runtime, production) => {
      const careless = alterWrites(runtime.environment.journal, (change, fleet) => {
        if (change.kind !== SERVICE.name || change.doc === null) return change;
        const is = change.doc as Service;
        const was = fleet.get(SERVICE, idOf(SERVICE, change.id))?.doc;
        if (is.designated === undefined || is.designated.host === was?.designated?.host) return change;
        const host = leavingHost(fleet, is) ?? is.designated.host;
        return put(SERVICE, idOf(SERVICE, change.id), { ...is, designated: { ...is.designated, host } });
      });
      return production(runtime.withEnvironment({ journal: careless }));
    }),
};

/** The change of a service, before and after. */
function withService(change: Change, fleet: FleetReader, alter: (was: Service, is: Service) => Service): Change {
  if (change.kind !== SERVICE.name || change.doc === null) return change;
  const was = fleet.get(SERVICE, idOf(SERVICE, change.id))?.doc;
  return was === undefined ? change : put(SERVICE, idOf(SERVICE, change.id), alter(was, change.doc as Service));
}

export const epochNotGrown: Mutant = {
  name: 'epoch-not-grown',
  bug: 'a service that is handed over keeps the epoch that it had',
  scenario: SCALE_IN,
  caughtBy: ['never: the epoch of a designation shrinks, or stays when the host becomes another', epochsGrow.name],
  plant: (parts) =>
    withKinds(parts, ['handover'], (kind) =>
      alterSteps(kind, (step, fleet) => ({
        ...step,
        changes: step.changes.map((change) => withService(change, fleet, (was, is) => ({ ...is, epoch: was.epoch }))),
      })),
    ),
};

/** Views are always reported as converged. */
function skipViewWaits(driver: string, asks: (kind: string) => boolean): Mutant['plant'] {
  return (parts) =>
    withDriver(parts, driver, (inner) => ({
      carryOut: async (action, fence) => (asks(action.step) ? { kind: 'applied' } : inner.carryOut(action, fence)),
    }));
}

export const oldHostRetiredTooSoon: Mutant = {
  name: 'old-host-retired-too-soon',
  bug: 'the old host stops a service before the others have changed to the new one',
  scenario: SCALE_IN,
  caughtBy: [makeBeforeBreak.name],
  plant: skipViewWaits('views', (step) => step === 'switch'),
};

export const switchedToUnready: Mutant = {
  name: 'switched-to-unready',
  bug: 'a service is switched to its new host before that is built',
  scenario: SCALE_IN,
  caughtBy: [makeBeforeBreak.name],
  plant: skipViewWaits('views', (step) => step === 'prepare'),
};

export const peersNotAwaited: Mutant = {
  name: 'peers-not-awaited',
  bug: 'a host is removed before its peers have taken their tunnels to it away',
  likely: 1,
  scenario: SCALE_IN,
  caughtBy: [removedEverywhere.name],
  plant: skipViewWaits('views', (step) => step === 'finalize'),
};

function asDown(doc: object): object {
  const host = doc as Host;
  return { ...host, connection: { ...host.connection, state: 'down' } };
}

/** The host as it is committed, with its real connection state. */
function asConnected(change: Change, fleet: FleetReader): Change {
  const real = fleet.get(HOST, idOf(HOST, change.id))?.doc.connection;
  if (change.kind !== HOST.name || change.doc === null || real === undefined) return change;
  return put(HOST, idOf(HOST, change.id), { ...(change.doc as Host), connection: real });
}

export const endWithoutEvidence: Mutant = {
  name: 'end-without-evidence',
  bug: 'a host that is to leave is past the point of no return before it has said that it left',
  scenario: SCALE_IN,
  likely: 2,
  caughtBy: [finalizedOnEvidence.name],
  plant: (parts) =>
    withKinds(parts, ['scale-in-end'], (kind) => {
      const hasty = mapFleet(kind, (fleet) => mapDocuments(fleet, HOST.name, asDown));
      return alterSteps(hasty, (step, fleet) => ({
        ...step,
        changes: step.changes.map((change) => asConnected(change, fleet)),
      }));
    }),
};

export const budgetIgnored: Mutant = {
  name: 'budget-ignored',
  bug: 'drains begin as many moves as they like',
  likely: 3,
  scenario: SCALE_IN,
  caughtBy: ['never: drains begin more moves than their budgets allow'],
  plant: (parts) =>
    withKinds(parts, ['scale-in'], (kind) =>
      mapFleet(kind, (fleet) => withSetting(fleet, { movesAtOnce: 100, movesPerHostAtOnce: 100 })),
    ),
};

function withSetting(fleet: FleetReader, value: object): FleetReader {
  return mapDocuments(fleet, 'setting', (doc) => {
    const setting = doc as { readonly value: object };
    return 'movesAtOnce' in setting.value ? { ...setting, value: { ...setting.value, ...value } } : doc;
  });
}

export const failuresNotBackedOff: Mutant = {
  name: 'failures-not-backed-off',
  bug: 'a drain tries again at once what has just failed',
  scenario: SCALE_IN,
  likely: 7,
  caughtBy: [failuresBackedOff.name, commitRateBounded.name],
  plant: (parts) =>
    withKinds(parts, ['scale-in'], (kind) =>
      mapFleet(kind, (fleet) =>
        mapDocuments(fleet, INSTANCE.name, (doc) => {
          const { fault: _, ...instance } = doc as Instance;
          return instance;
        }),
      ),
    ),
};

export const quarantineForgotten: Mutant = {
  name: 'quarantine-forgotten',
  bug: 'a host whose instances were built elsewhere because it was said to be off is trusted when it is connected',
  scenario: SCALE_IN,
  likely: 24,
  caughtBy: [operatorFencedDistrusted.name],
  plant: (parts) =>
    withRunningPart(parts, LIVENESS_CONTROLLER, (runtime, production) => {
      const trusting = alterWrites(runtime.environment.journal, (change) => {
        if (change.kind !== HOST.name || change.doc === null) return change;
        const { quarantined, ...host } = change.doc as Host;
        return quarantined?.because === 'operator-fenced' ? put(HOST, idOf(HOST, change.id), host) : change;
      });
      return production(runtime.withEnvironment({ journal: trusting }));
    }),
};

/** The service, while this operation has its new host prepared. */
function preparingService(fleet: FleetReader, id: string, operation: string): Service | undefined {
  const service = fleet.get(SERVICE, idOf(SERVICE, id))?.doc;
  const { handover } = service ?? {};
  return handover?.phase === 'preparing' && handover.operation === operation ? service : undefined;
}

export const targetNotVerified: Mutant = {
  name: 'target-not-verified',
  bug: 'whether the new host still can take a service is not looked at again, neither before nor in the commit that switches to it',
  scenario: SCALE_IN,
  likely: 5,
  // A removed target is waited for without end where no other one is chosen.
  caughtBy: [designatedToEligible.name, NOT_TO_LEAVING, makeBeforeBreak.name, AT_REST, STANDBY_ELSEWHERE],
  plant: (parts) =>
    withKinds(parts, ['handover'], (kind) => {
      return {
        ...kind,
        plan: (fleet, items, nowMs) =>
          items.flatMap((item) => {
            const to = preparingService(fleet, item.doc.target.id, item.doc.operation)?.handover?.to;
            if (to === undefined || fleet.get(ITEM, item.id)?.doc.step !== 'prepare')
              return kind.plan(fleet, [item], nowMs);
            if (nowMs < (item.doc.retryAtMs ?? 0)) return [];
            const { revision } = fleet.get(SERVICE, idOf(SERVICE, item.doc.target.id)) ?? item;
            const args = { hosts: [to], revision };
            const action = { driver: 'views', item: item.id, step: 'prepare', attempt: item.doc.attempt, args };
            return [{ kind: 'act', item: item.id, expected: item.revision, action }];
          }),
        observe: (item, outcome, { fleet, nowMs }) => {
          const service = preparingService(fleet, item.doc.target.id, item.doc.operation);
          const step = kind.observe?.(item, outcome, { fleet, nowMs });
          if (step === undefined) throw new Error('handovers observe');
          if (service?.handover === undefined || outcome.kind === 'failed' || step.changes.length > 0) return step;
          const { handover, epoch } = service;
          const doc: Service = {
            ...service,
            epoch: epoch + 1,
            designated: { host: handover.to, sinceMs: nowMs },
            handover: { ...handover, phase: 'switched', sinceMs: nowMs },
          };
          const changes = [put(SERVICE, idOf(SERVICE, item.doc.target.id), doc)];
          return { ...step, progress: { state: 'running', step: 'switch' }, changes };
        },
      };
    }),
};

export const switchDriftIgnored: Mutant = {
  name: 'switch-drift-ignored',
  bug: 'an agent takes its switch to be as it left it, whatever others did there',
  likely: 18,
  scenario: SCALE_IN,
  caughtBy: [AT_REST],
  plant: (parts) => ({
    ...parts,
    agent: (ports, options) => {
      const driver = { ...ports.driver, hasConverged: () => Promise.resolve(true) };
      return parts.agent({ ...ports, driver }, options);
    },
  }),
};

export const removedStillInViews: Mutant = {
  name: 'removed-still-in-views',
  bug: 'hosts are shown peers that are past the point of no return',
  scenario: SCALE_IN,
  likely: 1,
  caughtBy: [removedEverywhere.name, AT_REST, NO_LEFTOVERS],
  plant: (parts) =>
    withViewPart(parts, 'peers', (part) => ({
      name: part.name,
      affects: part.affects,
      build: (fleet, host) => [...((buildPart(part, fleet, host) ?? []) as object[]), ...finalizingPeers(fleet, host)],
    })),
};

function finalizingPeers(fleet: FleetReader, host: string): object[] {
  return [...fleet.all(HOST)].flatMap(({ id, doc: { state, tunnelAddress } }) =>
    state === 'finalizing' && id !== host && tunnelAddress !== undefined ? [{ host: id, tunnelAddress }] : [],
  );
}
