// Clusters over HTTP: a kubeconfig that is wrong names its field, and a secret of it is never shown.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { idOf, put } from '../../src/fleet/index.ts';
import { accept } from '../../src/journal/index.ts';
import { CLUSTER, WORKER } from '../../src/kubernetes/index.ts';
import { MinimalApi } from '../kubernetes/minimal-api.ts';
import { selfSigned } from '../self-signed.ts';
import { startApiTestServer, type ApiTestServer } from './api-test-server.ts';

let world: ApiTestServer;
let operator: string;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'muster-clusters-'));
  world = await startApiTestServer({ secretsIn: folder });
  operator = await world.token('operator');
});
afterAll(async () => {
  await world.close();
  rmSync(folder, { recursive: true, force: true });
});

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
  [
    { kind: 'simulated', simulated: { nodes: 100, workloads: ['a', 'b'].map((name) => ({ name, replicas: 501 })) } },
    'too-many-simulated-pods',
  ],
])('%j is refused: %s', async (facts, code) => {
  const before = world.journal.fleet.revision;
  const { status, said, text } = await post('/api/v1/clusters', { name: 'edge', ...facts });
  expect({ status, code: said.code }).toEqual({ status: 422, code });
  expect(text).not.toContain(SECRET);
  expect(world.journal.fleet.revision).toBe(before);
});

test('one-that-does-not-answer: its Nodes cannot be read, and its secret is not shown', async () => {
  const { status, text, said } = await post('/api/v1/clusters', { name: 'edge', kubeconfig: KUBECONFIG });
  expect({ status, said }).toMatchObject({ status: 201, said: { state: 'unknown' } });
  expect(text).not.toContain(SECRET);
  const plain = KUBECONFIG.replace(`"token":"${SECRET}"`, '');
  expect((await post('/api/v1/clusters', { name: 'plain', kubeconfig: plain })).status).toBe(201);
  const adopted = await post('/api/v1/clusters/plain/workers/adopt', { nodes: [{ node: 'a' }] });
  expect(adopted).toMatchObject({ status: 503, said: { code: 'cluster-unreachable' } });
});

/** An API over TLS with a certificate of its own, which answers with this status. */
async function startTlsApi(status: number): Promise<{ readonly url: string; readonly cert: string; close(): void }> {
  const { key, cert } = await selfSigned();
  const server = createServer({ key, cert }, ({ url = '' }, response) => {
    const answered = url.startsWith('/api/v1/nodes') || status !== 200 ? status : 404;
    response.writeHead(answered, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answered === 200 ? { items: [] } : { code: answered, message: `no: ${SECRET}` }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, cert, close: () => server.close() && server.closeAllConnections() };
}

const kubeconfigOf = (server: string, ca: string): string =>
  KUBECONFIG.replace('{"server":"http://127.0.0.1:9"}', JSON.stringify({ server, 'certificate-authority-data': ca }));
const encode = (text: string): string => Buffer.from(text).toString('base64');

test('a-wrong-authority, and one that is none, are refused; nothing is registered', async () => {
  const [own, other] = [await startTlsApi(200), await startTlsApi(200)];
  const before = world.journal.fleet.revision;
  const wrong = await post('/api/v1/clusters', { name: 'tls', kubeconfig: kubeconfigOf(own.url, encode(other.cert)) });
  expect(wrong).toMatchObject({ status: 422, said: { code: 'cluster-not-trusted', field: '/kubeconfig' } });
  const broken = encode('-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n');
  const none = await post('/api/v1/clusters', { name: 'tls', kubeconfig: kubeconfigOf(own.url, broken) });
  expect(none).toMatchObject({ status: 422, said: { code: 'kubeconfig-malformed', field: '/kubeconfig' } });
  expect(`${wrong.text}${none.text}${world.logged()}`).not.toContain(SECRET);
  expect(world.journal.fleet.revision).toBe(before);
  own.close();
  other.close();
});

test('credentials-that-the-cluster-does-not-take are refused, and not repeated though it repeats them', async () => {
  const api = await startTlsApi(401);
  const before = world.journal.fleet.revision;
  const refused = await post('/api/v1/clusters', { name: 'tls', kubeconfig: kubeconfigOf(api.url, encode(api.cert)) });
  expect(refused).toMatchObject({ status: 422, said: { code: 'cluster-credentials-refused', field: '/kubeconfig' } });
  expect(`${refused.text}${world.logged()}`).not.toContain(SECRET);
  expect(world.journal.fleet.revision).toBe(before);
  api.close();
});

async function patch(url: string, payload: object): Promise<{ status: number; text: string; said: Said }> {
  const { statusCode, body } = await world.call(operator, { method: 'PATCH', url, payload });
  return { status: statusCode, text: body, said: JSON.parse(body) as Said };
}

const sealedOf = (cluster: string): string | undefined =>
  world.journal.fleet.get(CLUSTER, idOf(CLUSTER, cluster))?.doc.credentials;

test('a-kubeconfig-is-changed after a look with it; a wrong one changes nothing', async () => {
  const [old, now, refusing] = [await startTlsApi(200), await startTlsApi(200), await startTlsApi(401)];
  const first = kubeconfigOf(old.url, encode(old.cert));
  expect((await post('/api/v1/clusters', { name: 'turned', kubeconfig: first })).status).toBe(201);
  const [before, sealed] = [world.journal.fleet.revision, sealedOf('turned')];
  const wrong = [
    [{ kubeconfig: kubeconfigOf(now.url, encode(old.cert)) }, 'cluster-not-trusted'],
    [{ kubeconfig: kubeconfigOf(refusing.url, encode(refusing.cert)) }, 'cluster-credentials-refused'],
    [{ kubeconfig: 'apiVersion: v1' }, 'kubeconfig-malformed'],
    [{ kubeconfig: first, context: 'none' }, 'unknown-context'],
    [{ context: 'main' }, 'kubeconfig-required'],
  ] as const;
  for (const [payload, code] of wrong) {
    const { status, said, text } = await patch('/api/v1/clusters/turned', { ...payload, drainsAtOnce: 4 });
    expect({ status, code: said.code }).toEqual({ status: 422, code });
    expect(text).not.toContain(SECRET);
  }
  expect(world.journal.fleet.revision).toBe(before);

  const next = kubeconfigOf(now.url, encode(now.cert)).replace(SECRET, `${SECRET}-2`);
  const changed = await patch('/api/v1/clusters/turned', { kubeconfig: next, drainsAtOnce: 4 });
  expect(changed).toMatchObject({ status: 200, said: { endpoint: now.url, hasCredentials: true, drainsAtOnce: 4 } });
  expect(changed.text).not.toContain(SECRET);
  expect(sealedOf('turned')).not.toBe(sealed);

  // Nothing of the access before is kept beside the new one.
  const bare = JSON.stringify({ ...(JSON.parse(KUBECONFIG) as object), users: [{ name: 'u', user: {} }] });
  expect((await patch('/api/v1/clusters/turned', { kubeconfig: bare })).said).toMatchObject({
    ...{ endpoint: 'http://127.0.0.1:9', hasCredentials: false },
  });
  expect(world.journal.fleet.get(CLUSTER, idOf(CLUSTER, 'turned'))?.doc).not.toHaveProperty('caCertificate');
  for (const one of [old, now, refusing]) one.close();
});

test('a-simulated-cluster-takes-no-kubeconfig', async () => {
  expect((await post('/api/v1/clusters', { name: 'toy', kind: 'simulated', simulated: { nodes: 0 } })).status).toBe(
    201,
  );
  const refused = { status: 422, said: { code: 'kubeconfig-unused', field: '/kubeconfig' } };
  expect(await patch('/api/v1/clusters/toy', { kubeconfig: KUBECONFIG })).toMatchObject(refused);
});

test('one-that-answers is registered with what it says; one that only lists nodes as well', async () => {
  const api = await startTlsApi(200);
  const made = await post('/api/v1/clusters', { name: 'tls', kubeconfig: kubeconfigOf(api.url, encode(api.cert)) });
  expect(made).toMatchObject({ status: 201, said: { state: 'reachable', hasCredentials: true } });
  expect(made.said).not.toHaveProperty('missingPermissions');
  // What is refused without a look is said without one.
  api.close();
  const again = await post('/api/v1/clusters', { name: 'tls', kubeconfig: kubeconfigOf(api.url, encode(api.cert)) });
  expect(again).toMatchObject({ status: 409, said: { code: 'cluster-exists', field: '/name' } });
});

test('a-simulated-one-has-the-requested-contents', async () => {
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

test('workers-are-added: a name and an instance for each, and nothing of the token is shown', async () => {
  const flavor = { name: 'm', vcpus: 1, memoryMiB: 512, diskGiB: 1 };
  expect((await post('/api/v1/flavors', flavor)).status).toBe(201);
  expect((await post('/api/v1/clusters', { name: 'grow', kind: 'simulated', simulated: { nodes: 0 } })).status).toBe(
    201,
  );
  const asked = { count: 2, flavor: 'm', networks: 'none', name: 'Worker_VDU' };
  const { status, said } = await post('/api/v1/clusters/grow/workers/add', asked);
  expect(status).toBe(202);
  const { operation, workers } = said as { readonly operation: string; readonly workers: readonly string[] };
  expect(workers.map((name) => name.replace(/[0-9a-z]{8,}$/, '*'))).toEqual(['grow.worker-vdu-*', 'grow.worker-vdu-*']);
  const made = world.journal.fleet.get({ name: 'worker-join' } as never, operation as never)?.doc as unknown as {
    readonly token: { readonly id: string; readonly secret: string };
  };
  expect(made.token.id).toMatch(/^[a-z0-9]{6}$/);
  expect(made.token.secret).toMatch(/^sealed/);
  for (const url of [`/api/v1/operations/${operation}`, `/api/v1/operations/${operation}/items`, '/api/v1/history'])
    expect((await world.call(operator, { method: 'GET', url })).body).not.toContain('sealed.');
});

test.each([
  [{ count: 0, flavor: 'm', networks: 'none' }, 422, 'wrong-worker-count', '/count'],
  [{ count: 201, flavor: 'm', networks: 'none' }, 422, 'wrong-worker-count', '/count'],
  [{ flavor: 'none' }, 422, 'unknown-flavor', '/flavor'],
  [{ flavor: 'm', networks: [{ network: 'none' }] }, 422, 'unknown-network', '/networks/0/network'],
])('to add %j is refused: %i %s', async (body, status, code, field) => {
  const before = world.journal.fleet.revision;
  const answered = await post('/api/v1/clusters/grow/workers/add', body);
  expect({ status: answered.status, said: answered.said }).toMatchObject({ status, said: { code, field } });
  expect(world.journal.fleet.revision).toBe(before);
});

test('a-cluster-whose-machines-are-not-reached-takes-no-new-workers', async () => {
  const answered = await post('/api/v1/clusters/plain/workers/add', { flavor: 'm' });
  expect(answered).toMatchObject({ status: 409, said: { code: 'cluster-not-joinable' } });
  const log = await world.call(operator, { method: 'GET', url: '/api/v1/workers/lab.node-1/log' });
  expect({ status: log.statusCode, body: log.body }).toMatchObject({ status: 404 });
  expect(log.body).toContain('no-machine-log');
});

describe("workers that are none, or another's", () => {
  let api: MinimalApi;
  const CONTROL_PLANE = 'node-role.kubernetes.io/control-plane';

  beforeAll(async () => {
    api = await MinimalApi.start(['a', 'b', 'c', 'master'], []);
    api.label('master', CONTROL_PLANE);
    const kubeconfig = KUBECONFIG.replace('http://127.0.0.1:9', api.url);
    expect((await post('/api/v1/clusters', { name: 'real', kubeconfig })).status).toBe(201);
    expect((await post('/api/v1/clusters/real/workers/adopt', { nodes: [{ node: 'a' }] })).status).toBe(201);
  });
  afterAll(() => api.stop());

  async function refuse(url: string, payload: object): Promise<object> {
    const before = world.journal.fleet.revision;
    const { status, said, text } = await post(url, payload);
    expect(text).not.toContain(SECRET);
    expect(world.journal.fleet.revision).toBe(before);
    return { status, code: said.code, field: said.field };
  }

  test('a-node-of-the-control-plane is not adopted', async () => {
    const nodes = [{ node: 'b' }, { node: 'master' }];
    const refused = { status: 422, code: 'control-plane-node', field: '/nodes/1/node' };
    expect(await refuse('/api/v1/clusters/real/workers/adopt', { nodes })).toEqual(refused);
  });

  test.each(['drain', 'remove', 'preview'])('a-worker-that-is-of-the-control-plane-by-now: %s', async (verb) => {
    const id = idOf(WORKER, 'real.a');
    const stored = world.journal.fleet.get(WORKER, id);
    if (stored === undefined) throw new Error('there is no worker real.a');
    const doc = { ...stored.doc, isControlPlane: true as const };
    await world.journal.submit({ by: 'test', decide: () => accept([put(WORKER, id, doc)], null) });
    const refused = { status: 422, code: 'control-plane-node', field: '/workers/0' };
    expect(await refuse(`/api/v1/clusters/real/workers/${verb}`, { workers: ['a'] })).toEqual(refused);
  });

  test('an-instance-that-is-a-worker-already is not adopted as another', async () => {
    expect((await post('/api/v1/instances', { name: 'vm', flavor: 'm', networks: 'none' })).status).toBe(202);
    const first = await post('/api/v1/clusters/real/workers/adopt', { nodes: [{ node: 'b', instance: 'vm' }] });
    expect(first.status).toBe(201);
    const nodes = [{ node: 'c', instance: 'vm' }];
    const refused = { status: 409, code: 'instance-is-worker', field: '/nodes/0/instance' };
    expect(await refuse('/api/v1/clusters/real/workers/adopt', { nodes })).toEqual(refused);
  });

  test('an-adopted-worker is forgotten, and its Node stays', async () => {
    const forgotten = await post('/api/v1/clusters/real/workers/forget', { workers: ['real.a'] });
    expect(forgotten).toMatchObject({ status: 200, said: { workers: ['real.a'] } });
    expect(api.changes).toEqual([]);
    const again = { status: 404, code: 'unknown-worker', field: '/workers/0' };
    expect(await refuse('/api/v1/clusters/real/workers/forget', { workers: ['real.a'] })).toEqual(again);
  });
});
