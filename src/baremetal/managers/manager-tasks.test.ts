// Both projections of managers against what a look at all documents finds, whatever is committed in whatever order, and taken back again.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { idOf, put, remove, runTrial, type Change, type Fleet, type FleetReader } from '../../fleet/index.ts';
import { isOpen, ITEM, type Item } from '../../operations/index.ts';
import { NODE } from '../model.ts';
import { putNode } from '../nodes-fixture.ts';
import { MANAGED_NODES } from './managed-nodes.ts';
import { MANAGER_TASKS } from './manager-tasks.ts';
import { newFleet } from './managers-fixture.ts';

const MANAGERS = ['m1', 'm2'];
const IDS = ['a', 'b', 'c'];

type Edit = (fleet: FleetReader) => Change[];

/** An instance has one node at most: a node that gets it has it from then on. */
const nodeEdit = fc
  .record({
    id: fc.constantFrom(...IDS),
    manager: fc.option(fc.constantFrom(...MANAGERS), { nil: undefined }),
    managerEpoch: fc.integer({ min: 1, max: 2 }),
    instance: fc.option(fc.constantFrom(...IDS), { nil: undefined }),
  })
  .map(({ id, manager, managerEpoch, instance }): Edit => (fleet) => {
    const isTaken = [...fleet.all(NODE)].some((one) => one.id !== id && one.doc.instance === instance);
    const used = manager === undefined || instance === undefined || isTaken ? {} : { manager, managerEpoch, instance };
    return [putNode(id, used)];
  });

const itemEdit = fc
  .record({
    id: fc.constantFrom('i1', 'i2', 'i3'),
    kind: fc.constantFrom('node', 'instance', 'host'),
    target: fc.constantFrom(...IDS),
    state: fc.constantFrom('pending', 'running', 'waiting', 'done', 'failed'),
    assignee: fc.option(fc.constantFrom(...MANAGERS), { nil: undefined }),
    host: fc.constantFrom(undefined, undefined, undefined, 'h1'),
  })
  .map(({ id, kind, target, state, assignee, host }): Edit => () => {
    const doc: Item = {
      ...{ operation: 'op', target: { kind, id: target }, step: 's', state, attempt: 1, sinceMs: 0 },
      ...(assignee !== undefined && { assignee }),
      ...(host !== undefined && { host }),
    };
    return [put(ITEM, idOf(ITEM, id), doc)];
  });

const removal = fc.constantFrom(...IDS).map(
  (id): Edit =>
    (fleet) =>
      fleet.get(NODE, idOf(NODE, id)) === undefined ? [] : [remove(NODE, idOf(NODE, id))],
);

function naiveItems(fleet: FleetReader, manager: string): string[] {
  const nodes = [...fleet.all(NODE)];
  const managerOf = ({ target, assignee }: Item): string | undefined => {
    const found = nodes.find(({ id, doc }) =>
      target.kind === 'node' ? id === target.id : target.kind === 'instance' && doc.instance === target.id,
    );
    return found?.doc.manager ?? assignee;
  };
  return [...fleet.all(ITEM)]
    .filter(({ doc }) => isOpen(doc) && doc.host === undefined && managerOf(doc) === manager)
    .map(({ id }) => id);
}

function naiveNodes(fleet: FleetReader, manager: string, managerEpoch: number): string[] {
  const own = [...fleet.all(NODE)].filter(({ doc }) => doc.manager === manager && doc.managerEpoch === managerEpoch);
  return own.map(({ id }) => id);
}

function expectAgreement(fleet: FleetReader): void {
  const [tasks, managed] = [fleet.projection(MANAGER_TASKS), fleet.projection(MANAGED_NODES)];
  for (const manager of MANAGERS) {
    expect([...tasks.itemsOf(manager)].sort()).toEqual(naiveItems(fleet, manager));
    for (const epoch of [1, 2])
      expect([...managed.nodesUnder(manager, epoch)].sort()).toEqual(naiveNodes(fleet, manager, epoch));
  }
  const all = [...fleet.all(NODE)].filter(({ doc }) => doc.manager !== undefined);
  expect(managed.count).toBe(all.length);
  expect(new Set(managed.managers())).toEqual(new Set(all.map(({ doc }) => doc.manager)));
}

test('never other items or nodes than a look at all documents finds', () => {
  const edits = fc.array(fc.oneof(nodeEdit, itemEdit, removal), { minLength: 10, maxLength: 40, size: 'max' });
  fc.assert(
    fc.property(edits, edits, (committed, tried) => {
      const fleet: Fleet = newFleet();
      for (const edit of committed) {
        fleet.apply(fleet.revision + 1, edit(fleet));
        expectAgreement(fleet);
      }
      runTrial(fleet, (trial) => {
        for (const edit of tried) trial.add(edit(trial));
        expectAgreement(trial);
      });
      expectAgreement(fleet);
    }),
  );
});
