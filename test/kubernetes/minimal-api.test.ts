// A cluster that offers nodes, pods and evictions over plain HTTP and nothing else: 404 to discovery, /version, budgets, Leases, cluster-info and access reviews is
// no failure, and an eviction names no version of its own.
import { beforeAll, describe, expect, test, type TestContext } from 'vitest';
import { waitFor } from '../ha/wait-for.ts';
import { kubeconfigOf } from './kubeconfig.ts';
import { MinimalApi, type MinimalPod } from './minimal-api.ts';
import { MusterProcess } from './muster-process.ts';

let server: MusterProcess;
let clusters = 0;

beforeAll(async () => {
  server = await MusterProcess.start();
});

interface Registered {
  readonly api: MinimalApi;
  readonly cluster: string;
  /** How the operation ended. */
  run(verb: 'drain' | 'remove' | 'return', ...workers: string[]): Promise<{ state: string; reason?: { code: string } }>;
}

async function register({ onTestFinished }: TestContext, pods: readonly MinimalPod[]): Promise<Registered> {
  const api = await MinimalApi.start(['a', 'b'], pods);
  onTestFinished(() => api.stop());
  const cluster = `minimal-${(clusters += 1)}`;
  await server.mustSend('POST', '/clusters', {
    name: cluster,
    kubeconfig: kubeconfigOf({ endpoint: api.url, user: {} }),
  });
  const nodes = ['a', 'b'].map((node) => ({ node }));
  await server.mustSend('POST', `/clusters/${cluster}/workers/adopt`, { nodes });
  return {
    api,
    cluster,
    run: async (verb, ...workers) => {
      const path = `/clusters/${cluster}/workers/${verb}`;
      const { operation } = await server.mustSend<{ operation: string }>('POST', path, { workers });
      return waitFor(`the ${verb}`, async () => {
        const seen = await server.mustSend<{ state: string }>('GET', `/operations/${operation}`);
        return seen.state === 'running' ? undefined : seen;
      });
    },
  };
}

describe.concurrent('a cluster that offers nodes, pods and evictions alone', () => {
  test('is-reachable, and what it does not say is left open', async (context) => {
    const { cluster, api } = await register(context, []);
    const shown = await waitFor('its state', async () => {
      const seen = await server.mustSend<{ state: string }>('GET', `/clusters/${cluster}`);
      return seen.state === 'reachable' ? seen : undefined;
    });
    expect(shown).not.toHaveProperty('version');
    expect(shown).not.toHaveProperty('missingPermissions');
    expect(api.unknown).toContain('GET /version');
  });

  test('is-drained within a budget that only answers to evictions show, and its workers are given back', async (context) => {
    const pods = [
      { name: 'web-1', node: 'a', refusals: [429, 429] },
      { name: 'web-2', node: 'b' },
    ];
    const { api, run } = await register(context, pods);
    expect(await run('drain', 'a')).toMatchObject({ state: 'succeeded' });
    expect(api.pods).toEqual(['web-2']);
    expect(api.nodeSpec('a')).toMatchObject({ unschedulable: true });
    expect(api.evictions).toEqual([
      { metadata: { namespace: 'apps', name: 'web-1' }, deleteOptions: { preconditions: { uid: 'uid-of-web-1' } } },
    ]);
    expect(await run('return', 'a')).toMatchObject({ state: 'succeeded' });
    expect(api.nodeSpec('a')).not.toMatchObject({ unschedulable: true });
    expect(api.nodeSpec('b')).toEqual({});
  });

  test('loses-its-nodes by removals, pods first', async (context) => {
    const { api, run, cluster } = await register(context, [{ name: 'web-1', node: 'a' }]);
    expect(await run('remove', 'a', 'b')).toMatchObject({ state: 'succeeded' });
    const order = api.changes.filter((call) => !call.startsWith('PATCH'));
    expect(order[0]).toBe('POST /api/v1/namespaces/apps/pods/web-1/eviction');
    expect(order.slice(1).toSorted()).toEqual(['DELETE /api/v1/nodes/a', 'DELETE /api/v1/nodes/b']);
    const left = await server.mustSend<{ items: object[] }>('GET', `/workers?cluster=${cluster}`);
    expect(left.items).toEqual([]);
  });

  test('ends-a-drain-at-once for two budgets', async (context) => {
    const { api, run } = await register(context, [{ name: 'odd-1', node: 'a', refusals: [500, 500, 500, 500] }]);
    expect(await run('drain', 'a')).toMatchObject({ state: 'failed', reason: { failedFor: 'drain-blocked' } });
    expect(api.pods).toEqual(['odd-1']);
  });
});
