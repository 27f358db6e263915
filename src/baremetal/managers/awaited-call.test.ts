// Calls to machines that come late, from the node's own manager under its lease and epoch: their work is over, and they have no effect.
import { describe, expect, test } from 'vitest';
import { fixtureN, NODE_KINDS, NodesWorld } from '../builder/nodes-world-fixture.ts';
import { actOnMachine, type ActAnswer } from '../drivers/simulated/act.ts';
import type { MachineAction, MachineCall } from '../drivers/inventory.ts';
import { denyUnlessAwaited } from './awaited-call.ts';
import type { ManagerTask } from './messages.ts';
import { denyUnlessManages } from './right.ts';

let notes = 0;

/** As a server that decides takes it. */
async function send(world: NodesWorld, call: MachineCall): Promise<string> {
  const command = { call, note: `late-${(notes += 1)}`, nowMs: world.nowMs };
  const answer = await world.commit<ActAnswer>((fleet) =>
    actOnMachine(
      fleet,
      command,
      (at) => denyUnlessManages(at, { ...call, isLeaseLive: () => true }) ?? denyUnlessAwaited(at, NODE_KINDS, call),
    ),
  );
  if (answer.kind === 'refused') {
    expect(answer.refusal.message.length).toBeLessThan(1000);
    return answer.refusal.code;
  }
  return answer.kind === 'outcome' ? answer.outcome.kind : answer.kind;
}

function callOf({ kind, node = '', nodeEpoch = 0, instance = '', args, id }: ManagerTask): MachineCall {
  return { action: kind as MachineAction, manager: 'm1', node, nodeEpoch, instance, args: { ...args, task: id } };
}

/** Until the manager has a task of this kind, which it does not carry out. */
async function untilTask(world: NodesWorld, kind: string): Promise<MachineCall> {
  for (let tries = 0; tries < 20; tries += 1) {
    await world.pass();
    const task = world.tasks('m1').find((one) => one.kind === kind);
    if (task !== undefined) return callOf(task);
    await world.manage('m1');
  }
  throw new Error(`there is no task ${kind}`);
}

async function buildingWorld(): Promise<NodesWorld> {
  const world = await NodesWorld.of(fixtureN(['seg0', 'seg0']), ['m1']);
  await world.create();
  return world;
}

describe('a call that comes again, late', () => {
  test('while its task is under way: the machine has done it already', async () => {
    const world = await buildingWorld();
    const deploy = await untilTask(world, 'deploy');
    expect([await send(world, deploy), await send(world, deploy)]).toEqual(['applied', 'already']);
  });

  test.each(['deploy', 'connect'] as const)(
    'never: a %s that comes once the machine was cleaned puts anything there',
    async (action) => {
      const world = await buildingWorld();
      const late = await untilTask(world, action);
      await world.settle();
      await world.delete('db');
      const clean = await untilTask(world, 'clean');
      expect(await send(world, clean)).toBe('applied');
      expect(world.machine(late.node)).toBe('empty');
      expect(await send(world, late)).toBe('fenced');
      // As a manager would that acts without a task.
      expect(await send(world, { ...late, args: {} })).toBe('fenced');
      expect(world.machine(late.node)).toBe('empty');
      await world.settle();
      expect([world.node(late.node).state, world.machine(late.node)]).toEqual(['available', 'empty']);
      expect(world.violations).toEqual([]);
    },
  );

  test('never: it undoes what was requested since', async () => {
    const world = await buildingWorld();
    await world.settle();
    await world.power('db', 'off');
    const off = await untilTask(world, 'power-off');
    await world.settle();
    await world.power('db', 'on');
    await world.settle();
    expect(await send(world, off)).toBe('fenced');
    expect(world.calls().at(-1)).toMatchObject({ op: 'power-off', accepted: false, result: 'fenced' });
  });

  test('is refused when it names the task of another node, or of another action', async () => {
    const world = await buildingWorld();
    await world.create({ name: 'web' });
    const deploy = await untilTask(world, 'deploy');
    const other = ['n1', 'n2'].find((one) => one !== deploy.node) ?? '';
    const { epoch, instance = '' } = world.node(other);
    expect(await send(world, { ...deploy, node: other, nodeEpoch: epoch, instance })).toBe('fenced');
    expect(await send(world, { ...deploy, action: 'power-on' })).toBe('fenced');
    for (const task of ['', ':', '__proto__:deploy:1', 't'.repeat(70_000)])
      expect(await send(world, { ...deploy, args: { task } })).toBe('fenced');
    expect(await send(world, deploy)).toBe('applied');
  });
});
