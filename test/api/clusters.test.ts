// Clusters over HTTP: a kubeconfig that is wrong names its field, and a secret of it is never shown.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApiTestServer, type ApiTestServer } from './api-test-server.ts';

let world: ApiTestServer;
let operator: string;

beforeAll(async () => {
  world = await startApiTestServer();
  operator = await world.token('operator');
});
afterAll(() => world.close());

const SECRET = 'planted-secret-of-a-user';
const KUBECONFIG = JSON.stringify({
  'current-context': 'main',
  contexts: [{ name: 'main', context: { cluster: 'c', user: 'u' } }],
  clusters: [{ name: 'c', cluster: { server: 'http://127.0.0.1:9' } }],
  users: [{ name: 'u', user: { token: SECRET } }],
});

interface Said {
  readonly code?: string;
  readonly field?: string;
}

async function post(url: string, payload: object): Promise<{ status: number; text: string; said: Said }> {
  const { statusCode, body } = await world.call(operator, { method: 'POST', url, payload });
  return { status: statusCode, text: body, said: JSON.parse(body) as Said };
}

test.each([
  [{}, 'kubeconfig-required'],
  [{ kubeconfig: 'apiVersion: v1' }, 'kubeconfig-malformed'],
  [{ kubeconfig: KUBECONFIG, context: 'none' }, 'unknown-context'],
  [{ kubeconfig: KUBECONFIG, kind: 'simulated' }, 'kubeconfig-unused'],
  [{ kubeconfig: KUBECONFIG, simulated: { nodes: 1 } }, 'cluster-not-simulated'],
])('%j is refused: %s', async (facts, code) => {
  const before = world.journal.fleet.revision;
  const { status, said, text } = await post('/api/v1/clusters', { name: 'edge', ...facts });
  expect({ status, code: said.code }).toEqual({ status: 422, code });
  expect(text).not.toContain(SECRET);
  expect(world.journal.fleet.revision).toBe(before);
});

test('one-that-does-not-answer: its Nodes cannot be read, and its secret is not shown', async () => {
  const { status, text } = await post('/api/v1/clusters', { name: 'edge', kubeconfig: KUBECONFIG });
  // A server without a key for secrets refuses to keep one.
  expect([201, 409]).toContain(status);
  expect(text).not.toContain(SECRET);
  const plain = KUBECONFIG.replace(`"token":"${SECRET}"`, '');
  expect((await post('/api/v1/clusters', { name: 'plain', kubeconfig: plain })).status).toBe(201);
  const adopted = await post('/api/v1/clusters/plain/workers/adopt', { nodes: [{ node: 'a' }] });
  expect(adopted).toMatchObject({ status: 503, said: { code: 'cluster-unreachable' } });
});

test('a-simulated-one-has-what-was-asked-for', async () => {
  const simulated = { nodes: 2, workloads: [{ name: 'web', replicas: 4, minAvailable: 3 }] };
  expect((await post('/api/v1/clusters', { name: 'lab', kind: 'simulated', simulated })).status).toBe(201);
  const adopted = await post('/api/v1/clusters/lab/workers/adopt', { nodes: [{ node: 'node-1' }, { node: 'node-2' }] });
  expect(adopted).toMatchObject({ status: 201, said: { workers: ['lab.node-1', 'lab.node-2'] } });
  const preview = await post('/api/v1/clusters/lab/workers/preview', { workers: ['node-1'] });
  expect(preview.said).toMatchObject({
    items: [{ worker: 'lab.node-1', isBlocked: false, pods: [{ pod: 'web-0' }, {}] }],
  });
  expect(await post('/api/v1/clusters/lab/workers/preview', {})).toMatchObject({ said: { code: 'workers-or-count' } });
});
