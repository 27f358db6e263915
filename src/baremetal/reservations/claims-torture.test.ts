// The operations of reservations on the torture kit: each step twice, failures and crashes at every port call. However it goes, what is claimed outside and
// what is reserved here are the same at the end, and nothing is held any more.
import { idOf, put, type Change, type FleetReader } from '../../fleet/index.ts';
import { accept, type Decision, type Journal } from '../../journal/index.ts';
import {
  OPEN_ITEMS_BY_TARGET,
  recordTaskAnswer,
  taskId,
  taskOf,
  targetKey,
  type Driver,
  type OperationId,
  type OperationKind,
} from '../../operations/index.ts';
import { torture } from '../../operations/torture.ts';
import { NODE, NODES_BY_CLAIM, RESERVATION, type Node, type Reservation } from '../model.ts';
import { MODELS, node, putNode, USED } from '../nodes-fixture.ts';
import { reservationClaim } from './claim-operation.ts';
import { CLAIMS_DRIVER } from './claim-order.ts';
import { ClaimsDriver } from './claims-driver.ts';
import { reservationId } from './documents.ts';
import { FakeInventory, type InventoryFault } from './inventory-fixture.ts';
import { beginRelease } from './release.ts';
import { reservationRelease } from './release-operation.ts';
import { putManager, reserveCommand } from './reservations-fixture.ts';
import { STILL } from './reservations-world-fixture.ts';
import { reserveNode } from './reserve.ts';

const IDS = ['n1', 'n2', 'n3'];

interface Rack {
  readonly name: string;
  readonly kind: OperationKind;
  readonly ground: readonly Change[];
  readonly outside: (inventory: FakeInventory) => void;
  /** What stands in the way of every call, tick by tick. */
  readonly faults?: readonly InventoryFault[];
  readonly start: (fleet: FleetReader, operation: OperationId, nowMs: number) => Decision<unknown>;
  /** What else happens, from the first tick on. */
  readonly world?: (journal: Journal, nowMs: number) => Promise<void>;
  readonly wrong: (fleet: FleetReader, inventory: FakeInventory) => readonly string[];
}

function register(rack: Rack): void {
  const { name, kind, ground, outside, faults = [], start, world = async () => undefined, wrong } = rack;
  let tick = 0;
  let inventory = new FakeInventory(IDS);
  const drivers = (): ReadonlyMap<string, Driver> => {
    inventory = new FakeInventory(IDS);
    tick = 0;
    outside(inventory);
    const inventories = new Map([['simulated', inventory] as const]);
    return new Map([[CLAIMS_DRIVER, new ClaimsDriver({ clock: STILL, inventories })]]);
  };
  torture({
    name,
    models: MODELS,
    kind,
    drivers,
    prepare: ground,
    start: (operation, nowMs) => ({ by: 'test', decide: (fleet) => start(fleet, operation, nowMs) }),
    world: async (journal, nowMs) => {
      inventory.standing = faults[tick];
      tick += 1;
      await world(journal, nowMs);
    },
    wrongWhenDone: (fleet) => [...wrongBetween(fleet, inventory), ...wrong(fleet, inventory)],
    wrongWhenCancelled: () => ['it has no cancel'],
  });
}

/** Who has each node, here and outside. What others have there is not offered here, or was lost. */
function wrongBetween(fleet: FleetReader, inventory: FakeInventory): string[] {
  const held = fleet.countOf(NODES_BY_CLAIM, 'i1');
  const nodes = [...fleet.all(NODE)].flatMap(({ id, doc }) => {
    const holder = inventory.holderOf(id);
    const outside = holder === 'somebody' ? undefined : holder;
    return doc.instance === outside ? [] : [`${id} is ${doc.instance}'s here and ${outside}'s outside`];
  });
  return [...(held > 0 ? [`${held} nodes are held still`] : []), ...nodes];
}

function stateOf(fleet: FleetReader): string | undefined {
  return fleet.get(RESERVATION, reservationId('i1'))?.doc.state;
}

/** Crashes last longer than the allocation may: then it fails, and gives back what it may have claimed. */
const settled = (fleet: FleetReader): string[] =>
  stateOf(fleet) === 'active' || stateOf(fleet) === 'error' ? [] : [`the reservation is ${stateOf(fleet)}`];

const FAULTS: readonly (readonly [name: string, faults: readonly InventoryFault[], lost: readonly string[]])[] = [
  ['at once', [], []],
  ['after an answer was lost', ['answer-lost'], []],
  ['after it was unreachable and busy', ['unreachable', { busyMs: 500 }], []],
  ['with two nodes that others have', [], ['n1', 'n2']],
  ['with no node that others do not have', [], IDS],
];

for (const [name, faults, lost] of FAULTS) {
  register({
    name: `reservation-claim, ${name}`,
    kind: reservationClaim,
    ground: [putManager('m1'), ...IDS.map((id) => putNode(id))],
    faults,
    outside: (inventory) => {
      for (const id of lost) inventory.take(id);
    },
    start: (fleet, operation, nowMs) =>
      reserveNode(fleet, reserveCommand({}, { operation, nowMs, claimModeOf: () => 'endpoint' })),
    wrong: (fleet) => [
      ...settled(fleet),
      ...(lost.length === IDS.length && stateOf(fleet) !== 'error' ? ['a node was found'] : []),
    ],
  });
}

register({
  name: 'reservation-claim, released meanwhile',
  kind: reservationClaim,
  ground: [putManager('m1'), ...IDS.map((id) => putNode(id))],
  outside: () => undefined,
  faults: ['answer-lost'],
  start: (fleet, operation, nowMs) => {
    const command = reserveCommand({}, { operation, nowMs, claimModeOf: () => 'endpoint' });
    return reserveNode(fleet, command);
  },
  world: async (journal, nowMs) => {
    await journal.submit({
      by: 'test',
      decide: (fleet) => {
        const stored = fleet.get(RESERVATION, reservationId('i1'));
        if (stored?.doc.state !== 'allocating') return accept([], null);
        return accept(beginRelease(fleet, stored, { by: 'test', nowMs }).changes, null);
      },
    });
  },
  wrong: (fleet) => (stateOf(fleet) === undefined ? [] : [`the reservation is ${stateOf(fleet)}`]),
});

const RESERVED: Reservation = {
  ...{ instance: 'i1', manager: 'm1', state: 'active', digest: 'd', request: {}, ignored: [] },
  ...{ node: 'n1', nodeEpoch: 4, claimed: true, createdAtMs: 1, changedBy: 'test', changedAtMs: 1 },
};

function reservedGround(facts: Partial<Node>): Change[] {
  return [
    putManager('m1'),
    ...IDS.slice(1).map((id) => putNode(id)),
    put(NODE, idOf(NODE, 'n1'), node({ ...USED, epoch: 4, ...facts })),
    put(RESERVATION, reservationId('i1'), RESERVED),
  ];
}

const KINDS = new Map([[reservationRelease.name, reservationRelease]]);

/** Its manager cleans the node; the first time it fails. */
async function cleanNode(journal: Journal, nowMs: number): Promise<void> {
  for (const item of journal.fleet.find(OPEN_ITEMS_BY_TARGET, targetKey(NODE.name, 'n1'))) {
    if (taskOf(journal.fleet, KINDS, item)?.kind !== 'clean') continue;
    const outcome = item.doc.reason?.['tries'] === undefined ? 'failed' : 'done';
    const answer = { task: taskId(item), outcome } as const;
    await journal.submit({
      by: 'm1',
      decide: (fleet) => recordTaskAnswer(fleet, KINDS, { answer, isAddressee: () => true, nowMs }),
    });
  }
}

register({
  name: 'reservation-release, of a node with data on it',
  kind: reservationRelease,
  ground: reservedGround({ state: 'active', power: 'on', dirty: true }),
  outside: (inventory) => inventory.take('n1', 'i1'),
  start: (fleet, operation, nowMs) => {
    const stored = fleet.get(RESERVATION, reservationId('i1'));
    if (stored === undefined) return accept([], null);
    return accept(beginRelease(fleet, stored, { operation, by: 'test', nowMs }).changes, null);
  },
  world: cleanNode,
  wrong: () => [],
});

register({
  name: 'reservation-release, of an unused node',
  kind: reservationRelease,
  ground: reservedGround({ state: 'reserved' }),
  outside: (inventory) => inventory.take('n1', 'i1'),
  start: (fleet, operation, nowMs) => {
    const stored = fleet.get(RESERVATION, reservationId('i1'));
    if (stored === undefined) return accept([], null);
    return accept(beginRelease(fleet, stored, { operation, by: 'test', nowMs }).changes, null);
  },
  wrong: (fleet) => (stateOf(fleet) === undefined ? [] : [`the reservation is ${stateOf(fleet)}`]),
});
