// What a drain would do with every pod, by the rules of the drain itself.
import { expect, test } from 'vitest';
import { DEFAULT_DRAIN_POLICY, type DrainPolicy } from '../model.ts';
import { EDGE, WorkersWorld, workload } from '../workers-fixture.ts';
import { previewWorker } from './preview.ts';

async function preview(world: WorkersWorld, policy: Partial<DrainPolicy> = {}): Promise<string[]> {
  const doc = world.worker('a');
  if (doc === undefined) throw new Error('there is no worker a');
  const worker = { id: `${EDGE}.a` as never, revision: 1, doc };
  const { signal } = new AbortController();
  const shown = await previewWorker(world.cluster, worker, { policy: { ...DEFAULT_DRAIN_POLICY, ...policy }, signal });
  const pods = shown.pods.map(({ pod, fate, why, budget, losesEmptyDir }) =>
    [pod, fate, why, budget, losesEmptyDir && 'loses its emptyDir'].filter((one) => one !== undefined).join(' '),
  );
  return [shown.isBlocked ? 'blocked' : 'may go', ...pods];
}

test('each-pod-with-what-becomes-of-it, and nothing is evicted', async () => {
  const world = await WorkersWorld.of(
    ['a'],
    workload('daemon', { ownerKind: 'DaemonSet' }),
    workload('scratch', { replicas: 1, hasEmptyDir: true }),
    workload('tight', { replicas: 2, minAvailable: 2 }),
    workload('web', { replicas: 2, minAvailable: 1 }),
  );
  expect(await preview(world)).toMatchInlineSnapshot(`
    [
      "may go",
      "daemon-0 stays daemon",
      "scratch-0 evict loses its emptyDir",
      "tight-0 later tight",
      "tight-1 later tight",
      "web-0 evict",
      "web-1 later web",
    ]
  `);
  expect(await preview(world, { keepEmptyDir: true })).toContain('scratch-0 never empty-dir');
  expect(world.effects()).toEqual([]);
});

test('a-pod-under-two-budgets-blocks-for-good', async () => {
  const world = await WorkersWorld.of(['a'], workload('web', { replicas: 1, minAvailable: 0, hasSecondBudget: true }));
  expect(await preview(world)).toEqual(['blocked', 'web-0 never two-budgets web, web-second']);
});
