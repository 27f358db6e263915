// What the target of a move has prepared reaches the source with its task, and stays out of the journal.
import { expect, test } from 'vitest';
import { idOf } from '../../fleet/index.ts';
import { ITEM, type StoredItem, type TaskAnswer } from '../../operations/index.ts';
import { instanceMove } from './operation.ts';
import { move, startActive } from './moves-fixture.ts';

const ANSWER: TaskAnswer = {
  task: 't',
  outcome: 'done',
  facts: { line: 'h4:7000', secret: 's', ports: [{ port: 'p' }] },
};

async function moveAt(step: string) {
  const world = await startActive();
  const operation = await move(world);
  await world.runUntilStep(operation, 'web', step);
  const item = world.fleet.get(ITEM, idOf(ITEM, `${operation}.web`)) as StoredItem;
  return { world, item };
}

test('the-source-is-given-it-with-its-task', async () => {
  const { world, item } = await moveAt('migrate');
  const running: StoredItem = { ...item, doc: { ...item.doc, state: 'running' } };
  const plain = instanceMove.task?.(running, { fleet: world.fleet });
  expect(plain?.args).not.toHaveProperty('handover');
  const handover = { line: 'h4:7000', secret: 's' };
  expect(instanceMove.task?.(running, { fleet: world.fleet, relayed: handover })?.args).toEqual({
    ...plain?.args,
    handover,
  });
});

test('it-is-what-prepare-answered-besides-ports', async () => {
  const { item } = await moveAt('prepare');
  expect(instanceMove.relayFacts?.(item, ANSWER)).toEqual({ line: 'h4:7000', secret: 's' });
  expect(instanceMove.relayFacts?.(item, { ...ANSWER, outcome: 'failed' })).toBeUndefined();
});

test('other-steps-hand-nothing-over, and take nothing back', async () => {
  const { item } = await moveAt('migrate');
  expect(instanceMove.relayFacts?.(item, ANSWER)).toBeUndefined();
});
