// How many evictions are requested at the same time, under one budget and over all.
import { expect, test } from 'vitest';
import type { ClusterCallOptions, EvictionAnswer, PodEviction } from '../cluster-api/cluster-api.ts';
import { MemoryCluster } from '../cluster-api/simulated/memory-cluster.ts';
import { DEFAULT_DRAIN_POLICY } from '../model.ts';
import { simulatedNode, workload } from '../workers-fixture.ts';
import { evictPlanned } from './evictions-driver.ts';
import { planDrain } from './plan.ts';

const HOW: ClusterCallOptions = { signal: new AbortController().signal };

/** Answers evictions only when a moment has passed, and counts those that wait for it. */
class SlowCluster extends MemoryCluster {
  readonly #waiting = new Map<string, number>();
  /** By the workload's name. */
  readonly most = new Map<string, number>();

  override async evict(pod: PodEviction, how: ClusterCallOptions): Promise<EvictionAnswer> {
    const names = ['all', pod.name.replace(/-\d+$/, '')];
    for (const name of names) this.#count(name, 1);
    await new Promise((resolve) => setImmediate(resolve));
    for (const name of names) this.#count(name, -1);
    return super.evict(pod, how);
  }

  #count(name: string, by: number): void {
    const now = (this.#waiting.get(name) ?? 0) + by;
    this.#waiting.set(name, now);
    this.most.set(name, Math.max(now, this.most.get(name) ?? 0));
  }
}

async function evictAll(...names: readonly string[]): Promise<SlowCluster> {
  const cluster = new SlowCluster('edge', () => 1_000_000);
  cluster.objects.nodes.put('a', simulatedNode('a'));
  for (const name of names)
    cluster.objects.workloads.put(name, workload(name, { replicas: 8, ...(name !== 'free' && { minAvailable: 0 }) }));
  const contents = cluster.look().readContents('a');
  const plan = planDrain('a', contents, DEFAULT_DRAIN_POLICY);
  expect(await evictPlanned(cluster, plan, HOW)).toEqual({ accepted: 8 * names.length, refused: [] });
  return cluster;
}

test('few-at-once-under-one-budget', async () => {
  expect((await evictAll('web')).most.get('web')).toBe(5);
});

test('several-budgets-at-the-same-time, up to what an API server takes', async () => {
  const { most } = await evictAll('web', 'db', 'cache', 'queue', 'mail');
  expect([most.get('web'), most.get('db'), most.get('all')]).toEqual([5, 5, 10]);
});

test('a-controller-counts-as-one-budget-where-none-is-shown', async () => {
  expect((await evictAll('free')).most.get('free')).toBe(5);
});
