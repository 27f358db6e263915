// Credentials of clusters that were planted, and that the API of the cluster repeats in every error, written in every way: they are nowhere to be found, not in the
// store, the log, the history, the watch, the metrics or any answer.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { newFolder, startServer } from '../cli/muster.ts';

/** Every one of its ends becomes another text in JSON, in addresses and in headers. */
const planted = (where: string): string => `pl4nted/in"${where}"+${'s3cr3t'.repeat(3)}`;
const SECRETS = { token: planted('token'), password: planted('password'), key: planted('a-key-of-a-certificate') };

function formsOf(secret: string): string[] {
  const shifted = ['', 'a', 'ab'].flatMap((before) => {
    const bytes = Buffer.from(before + secret);
    return [bytes.toString('base64').slice(4, -4), bytes.toString('base64url').slice(4, -4)];
  });
  return [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret), ...shifted];
}

/** As a peer may write it. */
function repeat(secret: string): string {
  const encoded = ['', 'a', 'ann:'].flatMap((before) => {
    const bytes = Buffer.from(before + secret);
    return [bytes.toString('base64'), bytes.toString('base64url')];
  });
  return [secret, JSON.stringify(secret), encodeURIComponent(secret), ...encoded].join(' ');
}

const ALL_FORMS = Object.values(SECRETS).flatMap(formsOf);
type Kind = keyof typeof SECRETS;

let isAway = false;

/** Lists a Node, and repeats the secret of its caller in every way when anything is changed, and in its own name. */
async function startApi(kind: Kind): Promise<string> {
  const secret = SECRETS[kind];
  const api = createServer((request: IncomingMessage, response: ServerResponse) => {
    const { method = '', url = '', headers } = request;
    const ready = { conditions: [{ type: 'Ready', status: 'True' }], nodeInfo: { kubeletVersion: secret } };
    const node = { metadata: { name: 'a', uid: 'u' }, status: ready };
    const answer = (status: number, body: object): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    // The last one is cut in two where messages end.
    const padding = 'x'.repeat(985);
    const message = isAway ? `${padding}${secret}` : `refused: ${headers.authorization} ${repeat(secret)}`;
    if (method !== 'GET' || isAway)
      return answer(isAway ? 503 : 403, { code: 403, message, details: { causes: [{ message }] } });
    if (url.startsWith('/api/v1/nodes?') || url === '/api/v1/nodes') return answer(200, { items: [node] });
    if (url.startsWith('/api/v1/nodes/')) return answer(200, node);
    if (url === '/version') return answer(200, { gitVersion: `v1-${secret}` });
    return answer(404, { code: 404, message });
  });
  api.listen(0, '127.0.0.1');
  await once(api, 'listening');
  closing.push(() => {
    api.close();
    api.closeAllConnections();
  });
  return `http://127.0.0.1:${(api.address() as AddressInfo).port}`;
}

const closing: (() => void)[] = [];

const server = await startServer(newFolder());
const token = readFileSync(join(server.data, 'admin-token'), 'utf8').trim();
afterAll(() => closing.forEach((close) => close()));

async function send(method: 'GET' | 'POST', path: string, payload?: object): Promise<{ status: number; text: string }> {
  const answered = await fetch(`${server.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(payload !== undefined && { body: JSON.stringify(payload) }),
  });
  return { status: answered.status, text: await answered.text() };
}

function kubeconfig(endpoint: string, user: object): string {
  return JSON.stringify({
    'current-context': 'm',
    contexts: [{ name: 'm', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server: endpoint } }],
    users: [{ name: 'u', user }],
  });
}

const encode = (text: string): string => Buffer.from(text).toString('base64');
const USERS = {
  token: { token: SECRETS.token },
  password: { username: 'ann', password: SECRETS.password },
  key: { 'client-certificate-data': encode('a certificate'), 'client-key-data': encode(SECRETS.key) },
};
const NAMES = Object.keys(USERS) as Kind[];

/** Whatever a caller, an operator of the machine or a thief of the disk can read, except for the key. */
async function everything(): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  const operations = JSON.parse((await send('GET', '/api/v1/operations')).text) as { items: { id: string }[] };
  for (const path of [
    ...['clusters', 'workers', 'drain-reports', 'operations', 'alarms', 'history?limit=500', 'audit', 'sealing-keys'],
    ...NAMES.map((name) => `clusters/${name}`),
    ...operations.items.flatMap(({ id }) => [`operations/${id}`, `operations/${id}/items`]),
    ...['cluster', 'worker', 'item'].map((kind) => `history?kind=${kind}&limit=500`),
  ])
    texts.set(path, (await send('GET', `/api/v1/${path}`)).text);
  texts.set('metrics', (await send('GET', '/metrics')).text);
  texts.set('log', server.err() + server.out());
  for (const path of readdirSync(server.data, { recursive: true, encoding: 'utf8' })) {
    const file = join(server.data, path);
    if (path !== 'secret.key' && statSync(file).isFile()) texts.set(path, readFileSync(file).toString('latin1'));
  }
  return texts;
}

async function watched(): Promise<{ readonly text: () => string; readonly close: () => void }> {
  const closed = new AbortController();
  const answered = await fetch(`${server.url}/api/v1/watch`, {
    headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
    signal: closed.signal,
  });
  expect(answered.status).toBe(200);
  let text = '';
  const read = async (): Promise<void> => {
    for await (const part of answered.body ?? []) text += Buffer.from(part as Uint8Array).toString();
  };
  read().catch(() => undefined);
  return { text: () => text, close: () => closed.abort() };
}

test('kubernetes-28: never: a credential of a cluster is shown, kept in clear or logged, also when its API repeats it', async () => {
  const watch = await watched();
  const said: string[] = [];
  for (const name of NAMES) {
    const made = await send('POST', '/api/v1/clusters', {
      name,
      kubeconfig: kubeconfig(await startApi(name), USERS[name]),
    });
    expect(made.status).toBe(201);
    const adopted = await send('POST', `/api/v1/clusters/${name}/workers/adopt`, { nodes: [{ node: 'a' }] });
    expect(adopted.status).toBe(201);
    const drained = await send('POST', `/api/v1/clusters/${name}/workers/drain`, { workers: ['a'] });
    expect(drained.status).toBe(202);
    said.push(made.text, adopted.text, drained.text);
  }
  await vi.waitFor(
    async () => {
      const { items } = JSON.parse((await send('GET', '/api/v1/operations')).text) as { items: { state: string }[] };
      expect(items.map(({ state }) => state)).toEqual(['failed', 'failed', 'failed']);
    },
    { timeout: 60_000, interval: 200 },
  );
  isAway = true;
  const preview = await send('POST', '/api/v1/clusters/token/workers/preview', { workers: ['a'] });
  expect(preview.status).toBe(503);
  said.push(preview.text);
  await vi.waitFor(
    async () =>
      expect((await send('GET', '/api/v1/alarms')).text.match(/"cluster-silent"/g)?.length).toBeGreaterThanOrEqual(3),
    { timeout: 60_000, interval: 300 },
  );
  const texts = new Map([...(await everything()), ['answers', said.join('\n')], ['watch', watch.text()]]);
  watch.close();
  // What was repeated did arrive there, without them.
  expect(texts.get('alarms')).toContain('[secret]');
  expect(texts.get('watch')).toContain('[secret]');
  const halves = Object.values(SECRETS).map((secret) => secret.slice(0, 12));
  for (const half of halves)
    expect({ half, holds: texts.get('alarms')?.includes(half) }).toEqual({ half, holds: false });
  for (const [where, text] of texts)
    for (const form of ALL_FORMS)
      expect({ where, form, holds: text.includes(form) }).toEqual({ where, form, holds: false });
}, 120_000);
