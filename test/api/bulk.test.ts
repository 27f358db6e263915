// Many nodes in one call: at the server that decides, and at another one that forwards the lines as they come.
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { NODE, type Node } from '../../src/baremetal/index.ts';
import { idOf } from '../../src/fleet/index.ts';
import { NotHolder, StoreUnavailable } from '../../src/journal/index.ts';
import { clockAhead, populate, startApiTestServer, takeLease, type ApiTestServer } from './api-test-server.ts';
import { hangUp, RawBody } from './raw-body.ts';
import { nodeChange } from './sample-nodes.ts';

const BULK = '/api/v1/nodes/bulk';
const open: ApiTestServer[] = [];

afterEach(async () => {
  hangUp();
  for (const world of open.splice(0)) await world.close();
});

async function server(options: Parameters<typeof startApiTestServer>[0] = {}): Promise<[ApiTestServer, string]> {
  const world = await startApiTestServer({ leads: false, ...options });
  open.push(world);
  return [world, await world.server.listen({ host: '127.0.0.1', port: 0 })];
}

interface Pair {
  readonly holder: ApiTestServer;
  readonly follower: ApiTestServer;
  readonly followerUrl: string;
  readonly operator: string;
}

async function pair(holderUrl?: string): Promise<Pair> {
  const clock = clockAhead();
  const [holder, url] = await server({ clock });
  await takeLease(holder, holderUrl ?? url);
  await populate(holder);
  const [follower, followerUrl] = await server({ clock, disk: holder.disk });
  const operator = await holder.token('operator');
  await follower.journal.waitForRevision(holder.journal.fleet.revision, 2000);
  return { holder, follower, followerUrl, operator };
}

async function leader(options: Parameters<typeof startApiTestServer>[0] = {}): Promise<[ApiTestServer, string]> {
  const [world] = await server(options);
  await takeLease(world);
  await populate(world);
  return [world, await world.token('operator')];
}

const linesOf = (count: number, facts: object = {}): string =>
  Array.from({ length: count }, (_, at) => `${JSON.stringify({ name: `node-${at}`, ...facts })}\n`).join('');

const post = (world: ApiTestServer, secret: string, payload: string) =>
  world.call(secret, { method: 'POST', url: BULK, payload, headers: { 'content-type': 'application/x-ndjson' } });

const nodesIn = ({ journal }: ApiTestServer): number => journal.fleet.count(NODE);
const nodeIn = ({ journal }: ApiTestServer, id: string): Node | undefined =>
  journal.fleet.get(NODE, idOf(NODE, id))?.doc;

describe('many nodes in one call', () => {
  test('become-what-their-lines-say', async () => {
    const [world, operator] = await leader();
    await world.commit(
      nodeChange('same', { cpus: 4 }),
      nodeChange('other', { cpus: 4 }),
      nodeChange('gone', { state: 'removed', epoch: 9 }),
    );
    const spec = { memoryMiB: 1024, localGiB: 100, cpus: 4 };
    const lines = [
      { name: 'new', site: 'north', traits: ['CUSTOM_GPU'], capabilities: 'boot_mode:uefi,has_gpu' },
      { name: 'same', ...spec },
      { name: 'other', ...spec, cpus: 8 },
      { name: 'gone' },
    ];
    const answer = await post(world, operator, lines.map((one) => JSON.stringify(one)).join('\n'));
    expect(answer.json()).toEqual({
      ...{ lines: 4, created: 1, changed: 1, unchanged: 1, revived: 1 },
      warnings: [{ line: 1, node: 'new', message: expect.stringContaining('"has_gpu" is skipped') as unknown }],
    });
    expect(nodeIn(world, 'new')).toMatchObject({ site: 'north', traits: ['CUSTOM_GPU'], state: 'available' });
    expect(nodeIn(world, 'other')).toMatchObject({ cpus: 8 });
    expect(nodeIn(world, 'gone')).toMatchObject({ state: 'available', epoch: 9 });
    const shown = await world.call(operator, { url: '/api/v1/nodes/new' });
    expect(shown.json()).toMatchObject({ bucket: 'free', warnings: [expect.stringContaining('has_gpu')] });
  });

  test('a-repetition-changes-nothing', async () => {
    const [world, operator] = await leader();
    const lines = linesOf(600, { traits: ['CUSTOM_GPU'] });
    expect((await post(world, operator, lines)).json()).toMatchObject({ created: 600 });
    const { revision } = world.journal.fleet;
    expect((await post(world, operator, lines)).json()).toMatchObject({ created: 0, unchanged: 600 });
    expect(world.journal.fleet.revision).toBe(revision);
  });

  test('of-a-caller-that-is-bound-to-a-site-are-in-it', async () => {
    const [world] = await leader();
    const bound = await world.token('operator', { site: 'north' });
    expect((await post(world, bound, linesOf(2))).json()).toMatchObject({ created: 2 });
    expect(nodeIn(world, 'node-1')?.site).toBe('north');
    expect((await post(world, bound, linesOf(2, { site: 'central' }))).json()).toMatchObject({
      ...{ status: 403, code: 'other-site', field: '/lines/1/site' },
    });
  });

  const BAD: readonly [string, string, object][] = [
    ['no-such-site', `${linesOf(300)}{"name":"x","site":"west"}`, { status: 422, code: 'unknown-site', line: 301 }],
    ['a-node-twice', `${linesOf(300)}{"name":"node-7"}`, { status: 422, code: 'duplicate-node', line: 301 }],
    ['no-json', `${linesOf(300)}{"name":`, { status: 400, code: 'malformed-line', line: 301 }],
    [
      'moved-while-in-use',
      `${linesOf(300)}{"name":"used","site":"north"}`,
      { status: 409, code: 'node-in-use', line: 301 },
    ],
    ['of-another-inventory', `${linesOf(300)}{"name":"known"}`, { status: 409, code: 'node-of-inventory', line: 301 }],
  ];

  test.each(BAD)('never: a bad line at the end lets the others in: %s', async (_, lines, expected) => {
    const [world, operator] = await leader();
    await world.commit(
      nodeChange('used', { state: 'active', epoch: 1, instance: 'i1', manager: 'm1', managerEpoch: 1, dirty: true }),
      nodeChange('known', { inventory: 'ironic' }),
    );
    const { revision } = world.journal.fleet;
    expect((await post(world, operator, lines)).json()).toMatchObject(expected);
    expect(world.journal.fleet.revision).toBe(revision);
  });

  test.each([
    ['If-Match', { 'if-match': '"1"' }, 400, 'if-match-not-supported'],
    ['json', { 'content-type': 'application/json' }, 415, 'unsupported-media-type'],
    ['no-type', { 'content-type': '' }, 415, 'unsupported-media-type'],
  ])('is-refused: %s', async (_, headers, status, code) => {
    const [world, operator] = await leader();
    const request = { method: 'POST', url: BULK, payload: linesOf(1) } as const;
    const answer = await world.call(operator, {
      ...request,
      headers: { 'content-type': 'application/x-ndjson', ...headers },
    });
    expect(answer.json()).toMatchObject({ status, code });
    if (status === 415) expect(answer.json<{ detail: string }>().detail).toContain('application/x-ndjson');
  });

  test('elsewhere-lines-are-no-body', async () => {
    const [world, operator] = await leader();
    const headers = { 'content-type': 'application/x-ndjson' };
    const answer = await world.call(operator, { method: 'POST', url: '/api/v1/nodes', payload: linesOf(1), headers });
    expect(answer.json()).toMatchObject({ status: 415, code: 'unsupported-media-type' });
  });
});

describe('a call that is interrupted', () => {
  test.each<[string, () => Error]>([
    ['lease-lost', () => new NotHolder()],
    ['store-away', () => new StoreUnavailable('the store is away', { outcome: 'failed' })],
  ])('says-how-far-it-came, and-is-completed-by-repeating-it: %s', async (_, fail) => {
    const [world, operator] = await leader();
    const submit = world.journal.submit.bind(world.journal);
    let commits = 0;
    world.journal.submit = (request) => {
      commits += 1;
      return commits > 2 ? Promise.reject(fail()) : submit(request);
    };
    const lines = linesOf(1000);
    const interrupted = await post(world, operator, lines);
    expect(interrupted.json()).toMatchObject({ status: 503, code: 'call-interrupted', lines: 1000, committed: 500 });
    expect(interrupted.headers['retry-after']).toBe('1');
    expect(nodesIn(world)).toBe(500);
    world.journal.submit = submit;
    expect((await post(world, operator, lines)).json()).toMatchObject({ created: 500, unchanged: 500 });
    expect(nodesIn(world)).toBe(1000);
  });

  test('by-another-change-names-the-line-and-what-is-done', async () => {
    const [world, operator] = await leader();
    const submit = world.journal.submit.bind(world.journal);
    let commits = 0;
    world.journal.submit = async (request) => {
      commits += 1;
      // Between two slices another commit reserves a node that a later line moves.
      if (commits === 2)
        await world.commit(
          nodeChange('node-400', {
            state: 'active',
            epoch: 1,
            instance: 'i1',
            manager: 'm1',
            managerEpoch: 1,
            dirty: true,
          }),
        );
      return submit(request);
    };
    const answer = await post(world, operator, linesOf(600, { site: 'north' }));
    expect(answer.json()).toMatchObject({ status: 409, code: 'node-in-use', line: 401, lines: 600, committed: 250 });
    expect(answer.json<{ detail: string }>().detail).toContain('Of 600 lines the first 250 are committed.');
  });

  test('by-the-end-of-its-server-stops-between-two-commits', async () => {
    const [world, operator] = await leader();
    const submit = world.journal.submit.bind(world.journal);
    let closing: Promise<void> | undefined;
    world.journal.submit = (request) => {
      closing ??= world.server.close();
      return submit(request);
    };
    const answer = await post(world, operator, linesOf(1000));
    expect(answer.json()).toMatchObject({ status: 503, code: 'call-interrupted', committed: 250 });
    await closing;
  });
});

describe('at another server', () => {
  test('the-lines-are-forwarded, and-the-answer-is-the-holders', async () => {
    const { holder, follower, followerUrl, operator } = await pair();
    const count = 10_000;
    const headers = { authorization: `Bearer ${operator}`, 'content-type': 'application/x-ndjson' };
    const body = linesOf(count, { memoryMiB: 1024, capabilities: 'boot_mode:uefi' });
    const answer = await fetch(`${followerUrl}${BULK}`, { method: 'POST', body, headers });
    expect(await answer.json()).toMatchObject({ lines: count, created: count, warnings: [] });
    expect(nodesIn(holder)).toBe(count);
    await follower.journal.waitForRevision(Number(answer.headers.get('muster-revision')), 5000);
    expect(nodesIn(follower)).toBe(count);
  });

  test('a-refusal-comes-back-before-all-is-sent', async () => {
    const { holder, followerUrl, operator } = await pair();
    const body = await RawBody.begin(followerUrl, { path: BULK, secret: operator });
    body.send(linesOf(10).replaceAll('name', 'nme'));
    expect(await body.answered()).toMatchObject({ status: 400, body: { code: 'malformed-line', line: 1 } });
    expect(nodesIn(holder)).toBe(0);
  });

  test('never: a follower keeps a body whole: it takes no more than the holder takes', async () => {
    const requests: IncomingMessage[] = [];
    // It never reads: nothing but the buffers in between is filled.
    const stalled = createServer((request) => void requests.push(request.pause()));
    await new Promise<void>((resolve) => stalled.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void stalled.close());
    const { followerUrl, operator } = await pair(`http://127.0.0.1:${(stalled.address() as AddressInfo).port}`);
    const body = await RawBody.begin(followerUrl, { path: BULK, secret: operator });
    const part = linesOf(1000);
    // As much as ten times what a socket and a stream keep on their way.
    const wanted = 64 * 1024 * 1024 - part.length;
    let sent = 0;
    for (let stuck = 0; sent < wanted && stuck < 20;) {
      const before = body.socket.writableLength;
      if (before < 1024 * 1024) {
        body.send(part);
        sent += part.length;
        stuck = 0;
      } else {
        await new Promise((resolve) => setTimeout(resolve, 25));
        stuck = body.socket.writableLength === before ? stuck + 1 : 0;
      }
    }
    stalled.closeAllConnections();
    expect(requests).toHaveLength(1);
    expect(sent).toBeLessThan(wanted / 2);
  });
});
