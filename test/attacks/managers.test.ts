// A manager, or whoever has its token, that lies: forged epochs, names in other forms, what is not its own, answers and calls that are as large or as
// odd as they can be. Over real sockets. Whatever it sends, its refusal says why, the server continues, and nothing changes.
import { request as httpRequest } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { MANAGER, NODE } from '../../src/baremetal/index.ts';
import { putNode, putReservationOf } from '../../src/baremetal/nodes-fixture.ts';
import { MANAGER_GATEWAY } from '../../src/baremetal/service-keys.ts';
import { idOf, put } from '../../src/fleet/index.ts';
import { ReservationsPlane, type Answered } from '../acceptance/baremetal/reservations-fixture.ts';

let plane: ReservationsPlane;
let url: string;
let leaseEpoch: number;

beforeEach(async () => {
  plane = await ReservationsPlane.start();
  url = await plane.server.server.listen({ host: '127.0.0.1', port: 0 });
  await plane.keepLease();
  leaseEpoch = await plane.register();
  await plane.addNodes({ n1: {}, n2: {} });
  expect((await plane.reserve()).status).toBe(201);
});
afterEach(() => plane.close());

const revision = (): number => plane.server.journal.fleet.revision;

async function send(method: string, path: string, payload?: unknown, secret = plane.manager): Promise<Answered> {
  const answered = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${secret}`,
      ...(payload !== undefined && { 'content-type': 'application/json' }),
    },
    ...(payload !== undefined && { body: typeof payload === 'string' ? payload : JSON.stringify(payload) }),
  });
  const body = (await answered.json()) as Answered['body'];
  return { status: answered.status, body, headers: Object.fromEntries(answered.headers) };
}

/** It is refused, with this code, and nothing is written. */
async function expectRefused(sent: () => Promise<Answered>, status: number, code: string): Promise<void> {
  const before = revision();
  expect(await sent()).toMatchObject({ status, body: { code } });
  expect(revision()).toBe(before);
}

const tenure = (facts: object = {}): object => ({ holder: 'p-1', leaseEpoch, ...facts });
/** What node `n1` is to its manager. */
const nodeEpoch = (): number => plane.node('n1')!.epoch;

describe('forged epochs', () => {
  test.each<[string, (forged: object) => [string, string, object]]>([
    ['renew', (forged) => ['POST', '/managers/m1/renew', forged]],
    ['acquire', (forged) => ['POST', '/managers/m1/acquire', forged]],
    ['answers', (forged) => ['POST', '/managers/m1/answers', { ...forged, task: 'a:b:1', outcome: 'done' }]],
  ])('%s under a lease that never was, or of another process, is refused', async (name, call) => {
    const code = name === 'renew' ? 'lease-lost' : 'fenced';
    for (const forged of [
      tenure({ leaseEpoch: leaseEpoch + 1 }),
      tenure({ leaseEpoch: 2 ** 53 - 1 }),
      tenure({ holder: 'p-2' }),
    ])
      await expectRefused(() => send(...call(forged)), 409, code);
    // What it has, it keeps.
    expect((await send('POST', '/managers/m1/renew', tenure())).status).toBe(200);
  });

  test('a release by another process, or under another lease, releases nothing', async () => {
    for (const forged of [tenure({ holder: 'p-2' }), tenure({ leaseEpoch: leaseEpoch + 1 })])
      expect((await send('POST', '/managers/m1/release', forged)).body).toEqual({ released: false });
    expect((await send('POST', '/managers/m1/renew', tenure())).status).toBe(200);
    expect(plane.server.journal.fleet.get(MANAGER, idOf(MANAGER, 'm1'))?.doc.state).toBe('live');
  });

  test.each([-1, 0, 2, 2 ** 53, 1e308])('an action under node epoch %s does nothing to the machine', async (epoch) => {
    const payload = { action: 'deploy', manager: 'm1', nodeEpoch: epoch, instance: 'i1' };
    const answered = await send('POST', '/nodes/n1/actions', payload);
    expect([400, 409]).toContain(answered.status);
    expect(plane.node('n1')).toMatchObject({ state: 'reserved', epoch: 1 });
    expect((await send('GET', '/nodes/n1/machine')).body).toEqual({ state: 'empty', power: 'off' });
  });

  test('a registration that is refused takes nothing from the one that is live', async () => {
    await expectRefused(
      () => send('PUT', '/managers/m1', { holder: 'p-1', version: '1', site: 'nowhere' }),
      422,
      'unknown-site',
    );
    await expectRefused(() => send('PUT', '/managers/m1', { holder: 'p-2', version: '1' }), 409, 'manager-name-taken');
    await expectRefused(
      () => send('PUT', '/managers/m1', { holder: 'p-2', version: '1', site: 'nowhere' }),
      409,
      'manager-name-taken',
    );
    expect((await send('POST', '/managers/m1/renew', tenure())).status).toBe(200);
    expect((await send('POST', '/managers/m1/acquire', tenure())).status).toBe(200);
  });
});

test('a server without TLS issues no certificates to managers, and says so', async () => {
  const asked = { certificateRequest: 'anything' };
  await expectRefused(() => send('POST', '/managers/m1/certificate', asked), 409, 'manager-certificates-off');
});

describe('what is not its own', () => {
  test('a token speaks for one manager, whatever the name looks like', async () => {
    const foreign = await plane.server.token('manager', { manager: 'm2' });
    for (const name of ['m1', 'M1'])
      for (const [method, path, body] of [
        ['PUT', `/managers/${name}`, { holder: 'p-9', version: '1' }],
        ['POST', `/managers/${name}/renew`, tenure()],
        ['POST', `/managers/${name}/release`, tenure()],
        ['POST', `/managers/${name}/acquire`, tenure()],
        ['POST', `/managers/${name}/answers`, { ...tenure(), task: 'a:b:1', outcome: 'done' }],
        ['GET', `/managers/${name}/tasks?holder=p-1&leaseEpoch=${leaseEpoch}`, undefined],
      ] as const)
        await expectRefused(() => send(method, path, body, foreign), 403, 'other-manager');
    const action = { action: 'deploy', manager: 'M1', nodeEpoch: 1, instance: 'i1' };
    await expectRefused(() => send('POST', '/nodes/n1/actions', action, foreign), 403, 'other-manager');
  });

  test.each(['ｍ1', 'm1%00', 'm%2f1', 'm1%20', '%6d1%e2%80%8b', 'ﬁ', 'm\u0131', '..', 'm1;', 'K'])(
    'the name %s is no other form of a manager',
    async (name) => {
      const before = revision();
      const answered = await send('PUT', `/managers/${name.includes('%') ? name : encodeURIComponent(name)}`, {
        ...{ holder: 'p-9', version: '1' },
      });
      expect([400, 403, 404]).toContain(answered.status);
      expect(revision()).toBe(before);
      expect(plane.server.journal.fleet.count(MANAGER)).toBe(1);
    },
  );

  test('a manager that had a node does not release what another one has now', async () => {
    const taken = { ...plane.node('n1')!, manager: 'm2', managerEpoch: 1, epoch: 2 };
    await plane.server.commit(put(NODE, idOf(NODE, 'n1'), taken));
    await expectRefused(() => plane.release('i1', plane.manager), 403, 'other-manager');
    expect(plane.node('n1')).toMatchObject({ state: 'reserved', instance: 'i1' });
  });

  test('what a build of the control plane needs, only managers request', async () => {
    await expectRefused(() => plane.reserve({ instance_uuid: 'i2', build: 'op-1.i2' }), 422, 'build-of-manager');
    await expectRefused(
      () => send('POST', '/reservations', { instance_uuid: 'i2', manager: 'm1', build: 'op-1.i2' }),
      409,
      'build-not-waiting',
    );
  });
});

test('a machine that is not there, or is none of those that are simulated, is not said to be empty', async () => {
  await plane.addNodes({ real: { inventory: 'ironic' } });
  await expectRefused(() => send('GET', '/nodes/nobody/machine'), 404, 'node-not-found');
  await expectRefused(() => send('GET', '/nodes/real/machine'), 409, 'machine-not-simulated');
});

describe('what is too much', () => {
  const action = (facts: object): object => ({
    ...{ action: 'deploy', manager: 'm1', nodeEpoch: nodeEpoch(), instance: 'i1' },
    ...facts,
  });

  test.each<[string, () => object]>([
    ['an-image-of-a-megabyte', () => ({ args: { image: 'x'.repeat(900_000) } })],
    ['a-document-of-an-image', () => ({ args: { image: 'x'.repeat(70_000) } })],
    [
      'a-thousand-ports',
      () => ({ action: 'connect', args: { ports: Array.from({ length: 1000 }, (_, port) => ({ port, serial: 1 })) } }),
    ],
    ['ports-that-are-none', () => ({ action: 'connect', args: { ports: [null, 7, [[]]] } })],
    ['a-task-of-a-megabyte', () => ({ action: 'reboot', args: { task: 'x'.repeat(900_000) } })],
    ['ports-that-are-text', () => ({ action: 'connect', args: { ports: 'p1' } })],
  ])('a call with %s is refused or carried out, and nothing fails', async (_name, facts) => {
    const answered = await send('POST', '/nodes/n1/actions', action(facts()));
    expect(answered.status).toBeLessThan(500);
    expect((await send('POST', '/managers/m1/renew', tenure())).status).toBe(200);
  });

  test.each<[string, string]>([
    ['facts-of-a-megabyte', JSON.stringify({ a: 'x'.repeat(900_000) })],
    ['a-prototype', '{"__proto__":{"polluted":true}}'],
    ['a-constructor', '{"constructor":{"prototype":{"polluted":true}}}'],
    ['depth', `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`],
  ])('an answer with %s is refused or stale, and nothing fails', async (_name, facts) => {
    const body = JSON.stringify({ ...tenure(), task: 'op-1.i1:deploy:1', outcome: 'failed' });
    const answered = await send('POST', '/managers/m1/answers', `${body.slice(0, -1)},"facts":${facts}}`);
    expect(answered.status).toBeLessThan(500);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    expect((await send('POST', '/managers/m1/renew', tenure())).status).toBe(200);
  });

  test('five hundred polls of one manager at once: all but the last end, and that one is answered as soon as there is news', async () => {
    const path = `/managers/m1/tasks?holder=p-1&leaseEpoch=${leaseEpoch}`;
    const { digest } = (await send('GET', path)).body as { readonly digest: string };
    const kinds: string[] = [];
    const polls = Array.from({ length: 500 }, async () => {
      const answered = await plane.ask(plane.manager, { url: `${path}&digest=${digest}&waitMs=20000` });
      kinds.push((answered.body['kind'] ?? answered.body['code']) as string);
    });
    await plane.until('all but one have ended', () => kinds.length >= 499);
    expect([...new Set(kinds)].toSorted()).toEqual(['too-many-requests-at-once', 'unchanged']);
    expect((await send('POST', '/managers/m1/renew', tenure())).status).toBe(200);
    // A node that it had under another lease is offered to it.
    const former = { instance: 'i3', manager: 'm1', managerEpoch: leaseEpoch + 9, epoch: 1 };
    const used = putNode('n3', { state: 'active', power: 'on', dirty: true, ...former });
    await plane.server.commit(used, putReservationOf('n3', former));
    plane.server.runtime.get(MANAGER_GATEWAY).wakeAll();
    await Promise.all(polls);
    expect(kinds.at(-1)).toBe('tasks');
  });

  test('a body that never ends is cut off, and others are served meanwhile', async () => {
    const cut = new Promise<string>((resolve) => {
      const sending = httpRequest(`${url}/api/v1/managers/m1/answers`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${plane.manager}`,
          'content-type': 'application/json',
          'transfer-encoding': 'chunked',
        },
      });
      sending.on('response', (answered) => {
        answered.resume();
        resolve(String(answered.statusCode));
      });
      sending.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'error'));
      const more = (): void => {
        if (!sending.destroyed && !sending.writableEnded) sending.write('"x'.repeat(50_000), () => setImmediate(more));
      };
      sending.write('{"task":');
      more();
    });
    expect((await send('POST', '/managers/m1/renew', tenure())).status).toBe(200);
    expect(['413', 'ECONNRESET', 'EPIPE']).toContain(await cut);
    expect((await send('POST', '/managers/m1/renew', tenure())).status).toBe(200);
  });
});

test('nodes of other projects are never seen: not in lists, by id, by watch, by history, nor through reservations', async () => {
  await plane.addNodes({
    theirs: { owner: 'other' },
    ours: { owner: 'acme' },
    leased: { owner: 'acme', lessee: 'other' },
  });
  const secret = await plane.server.token('viewer', { project: 'acme' });
  const get = (path: string) => send('GET', path, undefined, secret);
  expect(((await get('/nodes')).body['items'] as { id: string }[]).map(({ id }) => id)).toEqual(['leased', 'ours']);
  expect((await get('/nodes/theirs')).status).toBe(404);
  const history = await get('/history?kind=node&id=theirs');
  expect(JSON.stringify(history.body)).not.toContain('"doc"');
  const watched = watch('/api/v1/watch?kind=node&after=0', secret);
  await plane.addNodes({ theirs: { owner: 'other', memoryMiB: 1 }, ours: { owner: 'acme', memoryMiB: 1 } });
  // It was of the project of the caller, and is of another from now on: the answer says only that it went.
  await plane.addNodes({ ours: { owner: 'other', memoryMiB: 77_777 } });
  await plane.addNodes({ leased: { owner: 'acme', lessee: 'other', memoryMiB: 2 } });
  const text = await watched.until((seen) => seen.includes('"memoryMiB":2'));
  expect(text).toContain('ours');
  expect(text).not.toContain('theirs');
  expect(text).not.toContain('77777');
  expect(text).not.toContain('"other"');
});

interface Watched {
  until(holds: (text: string) => boolean): Promise<string>;
}

function watch(path: string, secret: string): Watched {
  let text = '';
  const over = new AbortController();
  const read = async (): Promise<void> => {
    const answered = await fetch(`${url}${path}`, {
      headers: { authorization: `Bearer ${secret}` },
      signal: over.signal,
    });
    for await (const chunk of answered.body ?? []) text += Buffer.from(chunk as Uint8Array).toString('utf8');
  };
  const reading = read().catch(() => undefined);
  return {
    until: async (holds) => {
      await plane.until('it is told', () => holds(text));
      over.abort();
      await reading;
      return text;
    },
  };
}
