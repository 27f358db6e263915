// Reservations, claims, epochs and figures of bare metal with one bug each. Kinds, routes and the parts that managers call are wrapped from outside.
import { INVENTORIES, MANAGER_GATEWAY } from '../../src/baremetal/service-keys.ts';
import { InventoryUnavailable, type Inventory } from '../../src/baremetal/drivers/inventory.ts';
import { NODE_COUNTERS, type NodeCounters } from '../../src/baremetal/capacity/counters.ts';
import { NODE, RESERVATION, type Node, type Reservation } from '../../src/baremetal/index.ts';
import { isRefused, removeNode } from '../../src/baremetal/nodes/transitions.ts';
import type { Runtime } from '../../src/composition/index.ts';
import { idOf, put, type AppliedChange, type Change, type FleetReader } from '../../src/fleet/index.ts';
import { accept, isJournalAway, type Decision } from '../../src/journal/index.ts';
import {
  bucketsAddUp,
  oneMachinePerInstance,
  oneReservationPerNode,
  removedByWord,
} from '../checkers/nodes/documents.ts';
import { BAREMETAL } from '../scenarios.ts';
import { withMethods } from '../world/managers/inventory-port.ts';
import type { SimParts } from '../world/parts.ts';
import { alterSteps, hideDocuments } from './altered-kind.ts';
import type { Mutant } from './mutant.ts';
import { withControllers, withDriver, withKinds, withProjection, withRunningPart } from './planting.ts';

const DISAGREE = 'never: a reservation and its node disagree';
const TWO_NODES = 'never: two nodes for one instance';
const EPOCH = 'never: the epoch of a node falls, is forgotten, or stays when the right to act on it goes to another';

type Reserve = SimParts['baremetal']['reserveNode'];

function withReserve(parts: SimParts, change: (reserve: Reserve) => Reserve): SimParts {
  return { ...parts, baremetal: { ...parts.baremetal, reserveNode: change(parts.baremetal.reserveNode) } };
}

function mapChanges<A>(decision: Decision<A>, change: (one: Change) => Change): Decision<A> {
  return decision.kind === 'accept' ? { ...decision, changes: decision.changes.map(change) } : decision;
}

export const nodeReservedTwice: Mutant = {
  name: 'node-reserved-twice',
  bug: 'that another has just taken the node is not noticed: it gets a second reservation',
  scenario: BAREMETAL,
  likely: 2,
  caughtBy: [DISAGREE, oneReservationPerNode.name],
  plant: (parts) =>
    withReserve(parts, (reserve) => (fleet, command) => {
      const taken = [...fleet.all(NODE)].find(({ doc }) => doc.state === 'reserved');
      return mapChanges(reserve(fleet, command), (one) => {
        if (taken === undefined) return one;
        if (one.kind === NODE.name) {
          const { instance, manager, managerEpoch } = one.doc as Node;
          if (instance === undefined || manager === undefined || managerEpoch === undefined) return one;
          return put(NODE, taken.id, { ...taken.doc, instance, manager, managerEpoch, epoch: taken.doc.epoch + 1 });
        }
        const doc = one.doc as Reservation;
        return one.kind === RESERVATION.name && doc.state === 'active'
          ? put(RESERVATION, idOf(RESERVATION, one.id), { ...doc, node: taken.id, nodeEpoch: taken.doc.epoch + 1 })
          : one;
      });
    }),
};

export const reservationRepeated: Mutant = {
  name: 'reservation-repeated',
  bug: 'a request for a node that is repeated is a new one: its instance gets a second node',
  scenario: BAREMETAL,
  likely: 2,
  caughtBy: [
    TWO_NODES,
    DISAGREE,
    oneReservationPerNode.name,
    'never: a node is claimed for an instance that has another',
    'never: a reservation takes a step that its table does not have',
  ],
  plant: (parts) =>
    withReserve(
      parts,
      (reserve) => (fleet, command) =>
        reserve(
          hideDocuments(fleet, RESERVATION.name, () => true),
          command,
        ),
    ),
};

export const unansweredClaimForgotten: Mutant = {
  name: 'unanswered-claim-forgotten',
  bug: 'a claim that was not answered passes for one that was lost: the next node is claimed, and the first is not given back',
  scenario: BAREMETAL,
  likely: 3,
  caughtBy: [oneMachinePerInstance.name],
  plant: (parts) =>
    withDriver(parts, 'node-claims', (driver) => ({
      carryOut: async (action, fence) => {
        const outcome = await driver.carryOut(action, fence);
        return outcome.kind === 'failed' ? { kind: 'applied', facts: { result: 'free' } } : outcome;
      },
    })),
};

export const epochForgotten: Mutant = {
  name: 'epoch-forgotten',
  bug: 'a node that is clean begins with its first epoch again',
  scenario: BAREMETAL,
  caughtBy: [EPOCH],
  plant: (parts) =>
    withKinds(parts, ['baremetal-build', 'baremetal-delete', 'baremetal-release', 'reservation-release'], (kind) =>
      alterSteps(kind, (step) => ({
        ...step,
        changes: step.changes.map((one) =>
          one.kind === NODE.name && (one.doc as Node).state === 'available'
            ? put(NODE, idOf(NODE, one.id), { ...(one.doc as Node), epoch: 1 })
            : one,
        ),
      })),
    ),
};

export const epochStays: Mutant = {
  name: 'epoch-stays-on-take-over',
  bug: 'a manager that takes a node over has it under the epoch of the one before',
  scenario: BAREMETAL,
  caughtBy: [EPOCH],
  plant: (parts) =>
    withRunningPart(parts, MANAGER_GATEWAY, (runtime, production) => {
      const gateway = production(runtime);
      const acquire = gateway.acquire.bind(gateway);
      gateway.acquire = (caller, request) => {
        const command = acquire(caller, request);
        return {
          ...command,
          decide: (fleet) =>
            mapChanges(command.decide(fleet), (one) => {
              const doc = one.doc as Node;
              return put(NODE, idOf(NODE, one.id), { ...doc, epoch: doc.epoch - 1 });
            }),
        };
      };
      return gateway;
    }),
};

export const bucketsFollowStates: Mutant = {
  name: 'buckets-follow-states-alone',
  bug: 'a node is counted anew only when its state changes: not when it goes into maintenance, or is claimed',
  scenario: BAREMETAL,
  caughtBy: [bucketsAddUp.name],
  plant: (parts) =>
    withProjection<NodeCounters>(parts, NODE_COUNTERS, (counters) => {
      const apply = counters.apply.bind(counters);
      counters.apply = (change: AppliedChange) => {
        const [before, after] = [change.before?.doc as Node | undefined, change.after?.doc as Node | undefined];
        if (before?.state !== after?.state) apply(change);
      };
      return counters;
    }),
};

/** Only with claims written on the nodes: Ironic’s own code for that is not in the simulation, see `src/baremetal/drivers/ironic/claims.test.ts`. */
export const fallbackWidens: Mutant = {
  name: 'fallback-widens',
  bug: 'an inventory without an endpoint for claims gives an instance every node that is free',
  scenario: BAREMETAL,
  caughtBy: [oneMachinePerInstance.name],
  plant: (parts) =>
    withRunningPart(parts, INVENTORIES, (runtime, production) => {
      const widened = [...production(runtime)].map(([name, inventory]) => [name, widen(inventory, runtime)] as const);
      return new Map(widened);
    }),
};

function widen(inventory: Inventory, { environment }: Runtime): Inventory {
  const claim: Inventory['claim'] = async (request, how) => {
    if ((await inventory.claims(how)) === 'direct') {
      const free = [...environment.journal.fleet.all(NODE)].filter(({ doc }) => doc.state === 'available');
      for (const { id, doc } of free) await inventory.claim({ ...request, node: id, nodeEpoch: doc.epoch + 1 }, how);
    }
    return inventory.claim(request, how);
  };
  return withMethods(inventory, { claim });
}

const REFRESH_MS = 3000;
const PAGE = 3;

/** A refresh, as far as it is needed to have that bug. */
export const absentTakenForGone: Mutant = {
  name: 'absent-taken-for-gone',
  bug: 'a node that a list did not show is deleted, although the list broke off',
  scenario: BAREMETAL,
  likely: 2,
  caughtBy: [removedByWord.name],
  plant: (parts) =>
    withControllers(parts, 'baremetal', (runtime) => ({
      run: async (signal) => {
        while (!signal.aborted) {
          await runtime.environment.clock.sleep(REFRESH_MS, signal);
          if (runtime.environment.journal.fence !== undefined) await deleteUnlisted(runtime);
        }
      },
    })),
};

async function deleteUnlisted(runtime: Runtime): Promise<void> {
  const { journal, clock } = runtime.environment;
  const listed = new Set<string>();
  const signal = new AbortController().signal;
  try {
    for (let after: string | undefined; ;) {
      const page = await runtime.get(INVENTORIES).get('simulated')?.list(after, PAGE, { signal });
      for (const { id } of page?.nodes ?? []) listed.add(id);
      if (page?.next === undefined) break;
      after = page.next;
    }
  } catch (error) {
    if (!(error instanceof InventoryUnavailable)) throw error;
  }
  const by = 'refresh';
  const decide = (fleet: FleetReader): Decision<null> => {
    const unlisted = [...fleet.all(NODE)].filter(({ id }) => !listed.has(id));
    const removed = unlisted.map((node) => ({ node, doc: removeNode(node, { by, nowMs: clock.nowMs() }) }));
    return accept(
      removed.flatMap(({ node, doc }) => (isRefused(doc) || doc === node.doc ? [] : [put(NODE, node.id, doc)])),
      null,
    );
  };
  try {
    await journal.submit({ by, decide });
  } catch (error) {
    if (!isJournalAway(error)) throw error;
  }
}
