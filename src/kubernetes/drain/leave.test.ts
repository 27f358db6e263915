// Removals that keep instances: the machine leaves its cluster, after its Node, and whatever keeps it from that is said.
import { describe, expect, test } from 'vitest';
import { EDGE, REACHED_BY_SSH, WorkersWorld } from '../workers-fixture.ts';

const KEEP = { keepsInstances: true };

async function joined(facts = REACHED_BY_SSH): Promise<readonly [world: WorkersWorld, node: string]> {
  const world = await WorkersWorld.joinable(facts);
  const { operation, workers } = await world.add();
  expect(await world.runOperation(operation)).toBe('succeeded');
  return [world, workers[0]?.slice(EDGE.length + 1) ?? ''];
}

const hasNode = (world: WorkersWorld, node: string) => world.cluster.look().readNode(node) !== undefined;

describe('an instance that is kept', () => {
  test('kubernetes-37: leaves-its-cluster after its Node is gone, and goes on', async () => {
    const [world, node] = await joined();
    expect(world.machine.joined).toEqual(new Set([node]));
    const leave = world.machine.leave.bind(world.machine);
    world.machine.leave = (call, how) => {
      expect(hasNode(world, node)).toBe(false);
      return leave(call, how);
    };
    expect(await world.runOperation(await world.remove([node], KEEP))).toBe('succeeded');
    expect([world.machine.joined.size, world.machine.passes]).toEqual([0, [`join ${node}`, `leave ${node}`]]);
    expect([world.worker(node), hasNode(world, node), world.hasInstance(node)]).toEqual([undefined, false, true]);
    expect(world.violations).toEqual([]);
  });

  test('one-that-is-deleted does not leave first', async () => {
    const [world, node] = await joined();
    expect(await world.runOperation(await world.remove([node]))).toBe('succeeded');
    expect(world.machine.passes).toEqual([`join ${node}`]);
    expect(world.hasInstance(node)).toBe(false);
  });

  test('kubernetes-37: whose-script-fails fails its removal with the line that says why, and a retry goes on with it', async () => {
    const [world, node] = await joined();
    world.machine.trouble = 'fails';
    const operation = await world.remove([node], KEEP);
    expect(await world.runOperation(operation)).toBe('failed');
    expect(world.item(operation, `${EDGE}.${node}`)).toMatchObject({
      reason: { code: 'machine-not-left', text: 'error: it is stuck' },
    });
    expect([world.worker(node)?.state, hasNode(world, node)]).toEqual(['removing', false]);
    world.machine.trouble = undefined;
    await world.retry(operation);
    expect(await world.runOperation(operation)).toBe('succeeded');
    expect([world.worker(node), world.machine.joined.size, world.hasInstance(node)]).toEqual([undefined, 0, true]);
    expect(world.violations).toEqual([]);
  });

  test.each(['unreachable', 'cut-off'] as const)(
    'that is %s is tried again for some minutes, and no longer',
    async (trouble) => {
      const [world, node] = await joined();
      world.machine.trouble = trouble;
      const operation = await world.remove([node], KEEP);
      await world.ticks(60);
      const item = () => world.item(operation, `${EDGE}.${node}`);
      expect(item()).toMatchObject({ state: 'waiting', step: 'leave', reason: { code: 'machine-awaited' } });
      expect(await world.runOperation(operation, 400)).toBe('failed');
      expect(item()).toMatchObject({ reason: { code: 'machine-not-left' } });
      // It goes with its instance, then.
      expect(await world.runOperation(await world.remove([node]))).toBe('succeeded');
      expect([world.worker(node), world.hasInstance(node)]).toEqual([undefined, false]);
    },
  );

  test('that-comes-back-in-time leaves', async () => {
    const [world, node] = await joined();
    world.machine.trouble = 'unreachable';
    const operation = await world.remove([node], KEEP);
    await world.ticks(60);
    world.machine.trouble = undefined;
    expect(await world.runOperation(operation)).toBe('succeeded');
    expect(world.machine.joined.size).toBe(0);
  });

  test('that-is-another-machine-by-its-key is sent nothing', async () => {
    const [world, node] = await joined();
    world.machine.trouble = 'wrong-host-key';
    const operation = await world.remove([node], KEEP);
    expect(await world.runOperation(operation)).toBe('failed');
    expect(world.item(operation, `${EDGE}.${node}`)).toMatchObject({ reason: { code: 'wrong-host-key' } });
  });

  test('of-a-cluster-that-reaches-no-machines stays as it is', async () => {
    const world = await WorkersWorld.of(['a']);
    await world.build('b');
    world.cluster.objects.nodes.put('b', { ...world.cluster.objects.nodes.get('a')!, name: 'b', uid: 'uid-b' });
    expect(await world.runOperation(await world.remove(['b'], KEEP))).toBe('succeeded');
    expect([world.worker('b'), hasNode(world, 'b'), world.hasInstance('b')]).toEqual([undefined, false, true]);
  });

  test('whose-removal-is-cancelled after its Node was deleted is left to another one', async () => {
    const [world, node] = await joined();
    world.machine.trouble = 'unreachable';
    const operation = await world.remove([node], KEEP);
    await world.ticks(30);
    await world.cancel(operation);
    expect(await world.runOperation(operation)).toBe('cancelled');
    expect(world.worker(node)).toMatchObject({ state: 'removing' });
    world.machine.trouble = undefined;
    expect(await world.runOperation(await world.remove([node], KEEP))).toBe('succeeded');
    expect([world.worker(node), world.machine.joined.size, world.hasInstance(node)]).toEqual([undefined, 0, true]);
  });
});
