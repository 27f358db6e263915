// Builds, moves, deletions, agents and drivers with one bug each.
import type { LocalDriver } from '../../src/agent/runtime.ts';
import { idOf, put, type Change, type FleetReader } from '../../src/fleet/index.ts';
import { INSTANCE, type Instance } from '../../src/instances/index.ts';
import {
  NETWORK_EVENTS,
  CLAIM,
  PORT,
  type NetworkEventReport,
  type NetworkOrder,
  type Port,
} from '../../src/network/index.ts';
import { NetworkEventsController } from '../../src/network/runtime.ts';
import {
  ITEM,
  OPEN_ITEMS_BY_TARGET,
  record,
  type Driver,
  type PlannedStep,
  type OperationKind,
} from '../../src/operations/index.ts';
import { eventsGenuine, portsIntended } from '../checkers/back-end.ts';
import { boundBeforeMigration } from '../checkers/bound-before-migration.ts';
import { onlyCopyKept } from '../checkers/copies-kept.ts';
import { addressUsedOnce, copiesAccounted, runsOnce } from '../checkers/machines.ts';
import { INSTANCES } from '../scenarios.ts';
import { AT_REST, NO_LEFTOVERS } from '../seed-properties.ts';
import { alterSteps, mapFleet, hideFromIndex, mapDocuments } from './altered-kind.ts';
import type { Mutant } from './mutant.ts';
import { withKinds, withDriver as withServerDriver, withRunningPart, withoutControllers } from './planting.ts';

const KINDS = ['instance-build', 'instance-delete', 'instance-move', 'instance-rebuild', 'instance-shelve'];
const ONE_HOST = 'never: an instance is at a host without its claim there, or has a claim where it is not';

function dropChanges(isDropped: (change: Change) => boolean): (kind: OperationKind) => OperationKind {
  return (kind) =>
    alterSteps(kind, (step) => ({ ...step, changes: step.changes.filter((change) => !isDropped(change)) }));
}

export const claimKeptAfterFault: Mutant = {
  name: 'claim-kept-after-fault',
  bug: 'a try that failed does not drop its claim',
  scenario: INSTANCES,
  caughtBy: [ONE_HOST],
  plant: (parts) =>
    withKinds(
      parts,
      ['instance-build'],
      dropChanges(({ kind, doc }) => kind === CLAIM.name && doc === null),
    ),
};

export const lateBuildKeepsAll: Mutant = {
  name: 'late-build-keeps-all',
  bug: 'a build past its deadline says so and gives nothing back',
  likely: 4,
  scenario: INSTANCES,
  caughtBy: ['never: a failed or cancelled build holds a claim or ports that no operation releases', ONE_HOST],
  plant: (parts) =>
    withKinds(parts, ['instance-build'], (kind) => ({
      ...kind,
      onDeadline: (fleet, item, nowMs) => {
        const { changes = [], expects = [] } = kind.onDeadline?.(fleet, item, nowMs) ?? {};
        return { expects, changes: changes.filter(({ kind: of }) => of === INSTANCE.name) };
      },
    })),
};

export const sweepNotStarted: Mutant = {
  name: 'sweep-not-started',
  bug: 'a host that may have a copy of an instance which is elsewhere by now is not swept',
  scenario: INSTANCES,
  caughtBy: [copiesAccounted.name, runsOnce.name],
  plant: (parts) =>
    withKinds(
      parts,
      KINDS,
      dropChanges(({ id }) => id.startsWith('clean-')),
    ),
};

/** Instead of holding a copy that may be the only one, the step begins to destroy it. */
export const onlyCopyNotHeld: Mutant = {
  name: 'only-copy-not-held',
  bug: 'what a host has of an instance is destroyed when its rebuild begins, and not when its successor runs',
  scenario: INSTANCES,
  likely: 2,
  caughtBy: [onlyCopyKept.name],
  plant: (parts) =>
    withKinds(parts, ['instance-clean'], (kind) =>
      alterSteps(kind, (step) => {
        if (step.progress.reason?.code !== 'only-copy') return step;
        return { ...step, progress: { state: 'running', step: 'destroy' } };
      }),
    ),
};

/** The task is answered as if it had been done. */
function skipOrder(op: NetworkOrder['op'], driver: Driver): Driver {
  return {
    carryOut: async (action, fence) => {
      const order = action.args as unknown as NetworkOrder;
      if (order.op !== op) return driver.carryOut(action, fence);
      return { kind: 'applied', facts: { ports: order.ports.map(({ port }) => ({ port, outcome: 'ok' })) } };
    },
  };
}

export function withNetworkDriver(mutant: Omit<Mutant, 'plant'>, change: (driver: Driver) => Driver): Mutant {
  return {
    ...mutant,
    plant: (parts) => withServerDriver(parts, 'network', change),
  };
}

export const unbindSkipped = withNetworkDriver(
  {
    name: 'unbind-skipped',
    bug: 'what is to be unbound stays bound at the back end',
    likely: 11,
    scenario: INSTANCES,
    caughtBy: [AT_REST],
  },
  (driver) => skipOrder('unbind', driver),
);

export const targetNotBoundFirst = withNetworkDriver(
  {
    name: 'target-not-bound-first',
    likely: 10,
    bug: 'a move takes its word for it that the target is bound, and the source migrates it',
    scenario: INSTANCES,
    caughtBy: [boundBeforeMigration.name],
  },
  (driver) => skipOrder('add-binding', driver),
);

export const releaseSkipped = withNetworkDriver(
  {
    name: 'release-skipped',
    bug: 'ports are gone from the journal and stay at the back end',
    scenario: INSTANCES,
    caughtBy: [portsIntended.name],
  },
  (driver) => skipOrder('release', driver),
);

export const serialNotGrown: Mutant = {
  name: 'serial-not-grown',
  bug: 'a port that moves is bound under the serial that it had where it was',
  likely: 1,
  scenario: INSTANCES,
  caughtBy: ['never: the binding serial of a port falls, or two bindings share one', AT_REST],
  plant: (parts) =>
    withKinds(parts, ['instance-move'], (kind) =>
      alterSteps(kind, (step, fleet) => ({
        ...step,
        changes: step.changes.map((change) => {
          const port = change.doc as Port | null;
          const before = fleet.get(PORT, idOf(PORT, change.id))?.doc.binding;
          if (change.kind !== PORT.name || port?.binding === undefined || before === undefined) return change;
          const { serial } = before;
          return put(PORT, idOf(PORT, change.id), { ...port, serial, binding: { ...port.binding, serial } });
        }),
      })),
    ),
};

/** The deletion sees only its own item, and the build an instance that is still to be built. */
export const deleteDoesNotWait: Mutant = {
  name: 'delete-does-not-wait',
  bug: 'a deletion does not wait for the build of its instance, which goes on',
  scenario: INSTANCES,
  caughtBy: [
    'never: an instance takes a step that its table does not have',
    ONE_HOST,
    copiesAccounted.name,
    portsIntended.name,
    AT_REST,
    NO_LEFTOVERS,
  ],
  plant: (parts) => {
    const building = withKinds(parts, ['instance-build'], (kind) => mapFleet(kind, hideDeletions));
    return withKinds(building, ['instance-delete'], (kind) => ({
      ...kind,
      plan: (fleet, items, nowMs) =>
        items.flatMap((item) => {
          const alone = hideFromIndex(fleet, OPEN_ITEMS_BY_TARGET.name, (id) => id === item.id);
          return kind.plan(alone, [item], nowMs);
        }),
    }));
  },
};

/** A fleet in which nothing is being deleted. */
function hideDeletions(fleet: FleetReader): FleetReader {
  return mapDocuments(fleet, INSTANCE.name, (doc) => {
    const instance = doc as Instance;
    return instance.state === 'deleting' ? { ...instance, state: 'building' } : instance;
  });
}

export const placedOutsideTheCommit: Mutant = {
  name: 'placed-outside-the-commit',
  likely: 9,
  bug: 'a place is found before the commit that takes it, on what there was then',
  scenario: INSTANCES,
  caughtBy: [
    'never: more is claimed of a host than it has to give',
    'never: an address has two owners',
    'never: two members of an anti-affinity group are put on one host',
    'never: more addresses are held and claimed than a pool has',
  ],
  plant: (parts) =>
    withKinds(parts, ['instance-build', 'instance-move', 'instance-rebuild'], (kind) => ({
      ...kind,
      plan: (fleet, items, nowMs) =>
        kind
          .plan(fleet, items, nowMs)
          .flatMap((next): readonly PlannedStep[] => (next.kind === 'decide' ? next.decide(fleet, nowMs) : [next])),
    })),
};

export const silentHostTakenForDead: Mutant = {
  name: 'silent-host-taken-for-dead',
  bug: 'an instance on a host that is only silent is deleted without it, and its addresses are given to others',
  scenario: INSTANCES,
  caughtBy: [copiesAccounted.name, addressUsedOnce.name],
  plant: (parts) =>
    withKinds(parts, ['instance-delete'], (kind) =>
      alterSteps(kind, (step, fleet) => {
        const item = fleet.get(ITEM, step.item);
        if (step.progress.reason?.code !== 'host-silent' || item === undefined) return step;
        const released = { state: 'running', step: 'release', host: null } as const;
        return record(item, released);
      }),
    ),
};

/** An agent with another driver. */
function withDriver(mutant: Omit<Mutant, 'plant'>, change: (driver: LocalDriver) => LocalDriver): Mutant {
  return {
    ...mutant,
    plant: (parts) => ({
      ...parts,
      agent: (ports, options) => parts.agent({ ...ports, driver: change(ports.driver) }, options),
    }),
  };
}

export const portMadeTwice = withDriver(
  {
    name: 'port-made-twice',
    bug: 'a host that makes ports by itself makes one more than its task has',
    scenario: INSTANCES,
    likely: 1,
    caughtBy: [portsIntended.name],
  },
  (driver) => ({
    ...driver,
    perform: async (task, fence) => {
      if (task.kind === 'build' && task.args['network'] === 'allocate') {
        const nics = (task.args['nics'] as readonly { readonly port: string }[]).map((nic) => ({
          ...nic,
          port: `${nic.port}.again`,
          createdBy: 'muster',
        }));
        await driver.perform({ ...task, id: `${task.id}.again`, args: { ...task.args, nics } }, fence);
      }
      return driver.perform(task, fence);
    },
  }),
);

export const destroysWhatIsNotInView = withDriver(
  {
    name: 'destroys-what-is-not-in-view',
    bug: 'an agent destroys what its view does not show as active',
    scenario: INSTANCES,
    caughtBy: [AT_REST, onlyCopyKept.name],
  },
  (driver) => {
    const built = new Set<string>();
    let fence: Parameters<LocalDriver['perform']>[1] | undefined;
    return {
      ...driver,
      perform: (task, options) => {
        fence = options;
        if (typeof task.args['instance'] === 'string') built.add(task.args['instance']);
        return driver.perform(task, options);
      },
      apply: async (view, signal) => {
        const shown = view.parts['instances'] as readonly { readonly id: string; readonly state: string }[] | undefined;
        for (const instance of fence === undefined ? [] : built) {
          if (shown?.some(({ id, state }) => id === instance && state === 'active') === true) continue;
          const args = { instance, nics: [], ports: 'leave' };
          await driver.perform({ id: `absent-${instance}`, kind: 'destroy', args }, {
            ...fence,
            stamp: view.stamp,
          } as never);
        }
        return driver.apply(view, signal);
      },
    };
  },
);

/** Takes every event as if it were about the current binding of the port. */
class HastyEvents extends NetworkEventsController {
  constructor(options: ConstructorParameters<typeof NetworkEventsController>[0]) {
    super(options);
    const enqueue = this.enqueue;
    const { fleet } = options.journal;
    Object.assign(this, {
      enqueue: (news: NetworkEventReport) => {
        const serial = fleet.get(PORT, idOf(PORT, news.port))?.doc.serial ?? news.serial;
        enqueue({ ...news, serial: Math.max(1, serial) });
      },
    });
  }
}

export const eventOfEarlierBinding: Mutant = {
  name: 'event-of-earlier-binding',
  bug: 'an event of an earlier binding is taken for one of the present binding',
  likely: 8,
  scenario: INSTANCES,
  caughtBy: [eventsGenuine.name],
  plant: (parts) => withRunningPart(parts, NETWORK_EVENTS, ({ environment }) => new HastyEvents(environment)),
};

export const degradedLeftAlone: Mutant = {
  name: 'degraded-left-alone',
  likely: 19,
  bug: 'instances that run and are not connected get no replug',
  scenario: INSTANCES,
  caughtBy: [AT_REST],
  plant: (parts) => withoutControllers(parts, 'instances'),
};

export const replugNeverTried: Mutant = {
  name: 'replug-never-tried',
  likely: 18,
  bug: 'the work that connects instances again is begun, and never goes on',
  scenario: INSTANCES,
  caughtBy: [AT_REST],
  plant: (parts) => withKinds(parts, ['instance-replug'], (kind) => ({ ...kind, plan: () => [] })),
};
