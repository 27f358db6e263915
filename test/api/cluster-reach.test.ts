// How machines of a cluster are reached, over HTTP: what is wrong names its field, and no secret is in an answer, the history or the journal.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startApiTestServer, type ApiTestServer } from './api-test-server.ts';

const SECRET = 'planted-secret-of-a-machine';
const KEY = `-----BEGIN OPENSSH PRIVATE KEY-----\n${SECRET}\n-----END OPENSSH PRIVATE KEY-----\n`;
const URL = '/api/v1/clusters/edge';
const KUBECONFIG = JSON.stringify({
  contexts: [{ name: 'main', context: { cluster: 'c' } }],
  clusters: [{ name: 'c', cluster: { server: 'http://127.0.0.1:9' } }],
});

let world: ApiTestServer;
let operator: string;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'muster-cluster-reach-'));
  world = await startApiTestServer({ secretsIn: folder });
  operator = await world.token('operator');
  const payload = { name: 'edge', kubeconfig: KUBECONFIG };
  expect((await world.call(operator, { method: 'POST', url: '/api/v1/clusters', payload })).statusCode).toBe(201);
});
afterAll(async () => {
  await world.close();
  rmSync(folder, { recursive: true, force: true });
});

async function change(payload: object): Promise<{ status: number; text: string; said: Record<string, unknown> }> {
  const { statusCode, body } = await world.call(operator, { method: 'PATCH', url: URL, payload });
  return { status: statusCode, text: body, said: JSON.parse(body) as Record<string, unknown> };
}

test('a-reach-by-ssh-is-set, and neither a key nor what it is sealed as is ever shown', async () => {
  const ssh = { user: 'root', key: KEY, passphrase: SECRET, hostKeys: 'first-use' };
  const { status, said, text } = await change({ ssh, workerScript: 'exit 0' });
  expect({ status, said }).toMatchObject({
    status: 200,
    said: { reach: 'ssh', ssh: { user: 'root', port: 22, hostKeys: 'first-use', knownHosts: [], proof: 'key' } },
  });
  expect(said['workerScript']).toMatch(/^[0-9a-f]{64}$/);
  const urls = [URL, '/api/v1/clusters', '/api/v1/history', '/api/v1/history?kind=cluster'];
  const shown = await Promise.all(urls.map(async (url) => (await world.call(operator, { method: 'GET', url })).body));
  const stored = JSON.stringify([...world.journal.fleet.all({ name: 'cluster' } as never)]);
  expect(stored).toContain('sealed.');
  for (const one of [text, ...shown, stored]) expect(one).not.toContain(SECRET);
  for (const one of [text, ...shown]) expect(one).not.toContain('sealed.');
});

test.each([
  [{ ssh: { key: SECRET } }, 'ssh-key-malformed', '/ssh/key'],
  [{ ssh: { key: KEY, password: SECRET } }, 'two-ssh-proofs', '/ssh/password'],
  [{ ssh: { passphrase: SECRET } }, 'passphrase-without-key', '/ssh/passphrase'],
  [{ ssh: { hostKeys: 'pinned' } }, 'host-keys-required', '/ssh/knownHosts'],
  [{ ssh: { knownHosts: [SECRET] } }, 'host-key-malformed', '/ssh/knownHosts/0'],
  [{ ssh: { user: `${SECRET}; rm` } }, 'malformed-body', '/ssh/user'],
  [{ ssh: { port: 0 } }, 'malformed-body', '/ssh/port'],
  [{ reach: 'telnet' }, 'malformed-body', '/reach'],
  [{ reach: 'none', ssh: { port: 22 } }, 'ssh-unused', '/ssh'],
  [{ workerScript: '' }, 'malformed-body', '/workerScript'],
])('%j is refused, changes nothing, and no secret is repeated', async (payload, code, field) => {
  const before = world.journal.fleet.revision;
  const { status, said, text } = await change(payload);
  expect(status).toBeGreaterThanOrEqual(400);
  expect(said).toMatchObject({ code });
  expect(JSON.stringify(said)).toContain(field);
  expect(text).not.toContain(SECRET);
  expect(world.journal.fleet.revision).toBe(before);
});

test('a-script-of-its-own-goes-with-its-cluster', async () => {
  const scripts = () => [...world.journal.fleet.all({ name: 'worker-script' } as never)].length;
  await change({ workerScript: 'exit 1' });
  expect(scripts()).toBe(1);
  expect((await world.call(operator, { method: 'DELETE', url: URL })).statusCode).toBe(200);
  expect(scripts()).toBe(0);
});
