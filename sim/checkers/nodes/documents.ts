// Nodes, reservations and machines compared with each other, and the figures with the nodes.
import { idOf, type Fleet } from '../../../src/fleet/index.ts';
import { MANAGER, NODE, RESERVATION, type Node } from '../../../src/baremetal/index.ts';
import { describeCapacity, manageableCapacity } from '../../../src/baremetal/capacity/capacity.ts';
import { settleMachine } from '../../../src/baremetal/drivers/simulated/machine.ts';
import { MACHINE } from '../../../src/baremetal/drivers/simulated/model.ts';
import { WORLD_BEGINS_MS } from '../../kernel/clock.ts';
import type { World } from '../../world/world.ts';
import type { Checker } from '../checker.ts';
import { nodeChanges } from './tenures.ts';

function checkAfter(kinds: readonly string[], check: (world: World) => string | undefined): Checker['watch'] {
  return (violated, world) => ({
    onApplied: ({ applied }) => {
      const problem = applied.some(({ kind }) => kinds.includes(kind)) ? check(world) : undefined;
      if (problem !== undefined) violated(problem);
    },
  });
}

export const oneReservationPerNode: Checker = {
  name: 'never: a node has two reservations, or an instance two nodes',
  watch: checkAfter([NODE.name, RESERVATION.name], ({ truth }) => {
    const reservations = [...truth.all(RESERVATION)].filter(({ doc }) => doc.state !== 'error');
    const users = [...truth.all(NODE)].map(({ doc }) => doc.instance ?? doc.claimedFor);
    const [node] = repeated(reservations.map(({ doc }) => doc.node));
    const [instance] = repeated(users);
    if (node !== undefined) return `node ${node} has several reservations`;
    return instance === undefined ? undefined : `instance ${instance} has several nodes`;
  }),
};

function repeated(names: readonly (string | undefined)[]): string[] {
  const seen = new Set<string>();
  return names.filter((name): name is string => {
    if (name === undefined || !seen.has(name)) {
      if (name !== undefined) seen.add(name);
      return false;
    }
    return true;
  });
}

const CLOCKS_APART_MS = 10_000;

/** By the clock that is ahead of all: what a server takes for done by now. */
export function latestNowMs({ scheduler }: World): number {
  return WORLD_BEGINS_MS + scheduler.nowMs + CLOCKS_APART_MS;
}

/** One that could not be cleaned keeps what is on it, and belongs to no instance. */
function isAbandoned(node: Node | undefined): boolean {
  return node?.dirty === true && node.instance === undefined;
}

export const oneMachinePerInstance: Checker = {
  name: 'never: two machines are one instance’s, or one is that of an instance that did not ask for it',
  watch: checkAfter([NODE.name, MACHINE.name], (world) => {
    const { truth } = world;
    const claimed = [...truth.all(MACHINE)].flatMap(({ id, doc }) => {
      const { instance } = settleMachine(doc, latestNowMs(world));
      const node = truth.get(NODE, idOf(NODE, id))?.doc;
      return instance === undefined || isAbandoned(node) ? [] : [{ id, instance, node }];
    });
    const [instance] = repeated(claimed.map((one) => one.instance));
    if (instance !== undefined) return `several machines are that of ${instance}`;
    const stray = claimed.find((one) => (one.node?.instance ?? one.node?.claimedFor) !== one.instance);
    return stray && `the machine of ${stray.id} is that of ${stray.instance}, which has not asked for it`;
  }),
};

export const freeMachineIsEmpty: Checker = {
  name: 'never: a node is free, and there is data on its machine',
  watch: checkAfter([NODE.name, MACHINE.name], (world) => {
    const { truth } = world;
    for (const { id, doc } of truth.all(NODE)) {
      const machine = truth.get(MACHINE, idOf(MACHINE, id))?.doc;
      if (doc.state !== 'available' || machine === undefined) continue;
      const { state, instance } = settleMachine(machine, latestNowMs(world));
      if (state !== 'empty') return `node ${id} is free, and its machine is ${state} for ${instance}`;
    }
    return undefined;
  }),
};

/** Derived here from the documents, independently of the program's own function. */
function bucketByHand({ state, maintenance, power, instance, claimedFor }: Node): string {
  if (state === 'removed') return 'removed';
  if (state === 'clean-failed') return 'unavailable';
  if (state !== 'available') return state;
  if (maintenance !== undefined || power === 'unknown' || instance !== undefined) return 'unavailable';
  return claimedFor === undefined ? 'free' : 'reserved';
}

export const bucketsAddUp: Checker = {
  name: 'never: buckets, rows and the fleet disagree on how many nodes there are',
  watch: (violated, world) => {
    const look = (who: string, fleet: Fleet): void => {
      const problem = wrongFigure(fleet);
      if (problem !== undefined) violated(`${who}: ${problem}`);
    };
    return {
      onApplied: ({ truth, applied }) => {
        if (nodeChanges(applied).length > 0) look('the fleet', truth);
      },
      // While a server writes a group, its figures are ahead of its documents by it.
      atEnd: () => {
        for (const { incarnation } of world.servers)
          if (incarnation !== undefined) look(incarnation.program.name, incarnation.journal.fleet);
      },
    };
  },
};

function wrongFigure(fleet: Fleet): string | undefined {
  const nodes = [...fleet.all(NODE)].map(({ doc }) => doc).filter(({ state }) => state !== 'removed');
  const { total, buckets, sites, resourceClasses } = describeCapacity(fleet, {});
  const counted = Object.entries(buckets).find(
    ([bucket, count]) => nodes.filter((node) => bucketByHand(node) === bucket).length !== count,
  );
  if (counted !== undefined) return `${counted[1]} nodes are said to be ${counted[0]}`;
  if (total !== nodes.length) return `${total} nodes are counted, and there are ${nodes.length}`;
  for (const rows of [sites, resourceClasses])
    if (rows.reduce((sum, row) => sum + row.total, 0) !== total) return 'the rows do not add up to the total';
  for (const { id } of fleet.all(MANAGER)) {
    const row = manageableCapacity(fleet, id);
    const used = nodes.filter(({ manager }) => manager === id).length;
    if (row.total !== total || row.usedHere !== used || row.free !== buckets.free)
      return `the row of ${id} says ${JSON.stringify(row)}`;
  }
  return undefined;
}

/** By operators' word, or because its inventory said of this very node that there is none such. */
export const removedByWord: Checker = {
  name: 'never: a record of a node is deleted that was not called gone',
  watch: (violated, world) => ({
    onApplied: ({
      applied,
      entry: {
        commit: { by },
      },
    }) => {
      for (const { id, before, after } of nodeChanges(applied)) {
        const gone = world.inventory?.gone;
        if (before?.state === 'removed' && after?.state !== 'removed') gone?.delete(id);
        const isGone = before !== undefined && before.state !== 'removed' && after?.state === 'removed';
        if (after === undefined) violated(`node ${id} is forgotten by ${by}`);
        if (isGone && !by.startsWith('operator-') && gone?.has(id) !== true) violated(`node ${id} is removed by ${by}`);
      }
    },
  }),
};
