// Writes: answers, idempotency, If-Match, and what they look like when refused.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { IDEMPOTENCY, TOKEN, tokenIdIn } from '../../src/access/index.ts';
import { hashSecret } from '../../src/api/runtime.ts';
import { idOf, put } from '../../src/fleet/index.ts';
import { HOST, type HostId } from '../../src/hosts/index.ts';
import { RetentionController } from '../../src/journal/runtime.ts';
import { hostChange, populate, startApiTestServer, type ApiTestServer } from './api-test-server.ts';

let world: ApiTestServer;
let admin: string;

beforeAll(async () => {
  world = await startApiTestServer();
  await populate(world);
  admin = await world.token('admin');
});
afterAll(() => world.close());

const post = (url: string, payload: object, headers: Record<string, string> = {}) =>
  world.call(admin, { method: 'POST', url, payload, headers });

describe('a write', () => {
  test('answers with the revision it made, the ETag of the resource and a request id', async () => {
    const answer = await post('/api/v1/hosts/central-0/disable', { reason: 'new memory' });
    expect(answer.statusCode).toBe(200);
    const revision = world.journal.fleet.get(HOST, 'central-0' as HostId)?.revision;
    expect(answer.headers).toMatchObject({
      'muster-revision': String(revision),
      etag: expect.stringMatching(`^"${revision}-[0-9a-f]{8}"$`) as string,
    });
    expect(answer.headers['x-request-id']).toMatch(/^rq-/);
    expect(answer.json()).toMatchObject({
      id: 'central-0',
      revision,
      enabled: false,
      disabled: { reason: 'new memory' },
    });
  });

  test('keeps the request id it was given', async () => {
    const answer = await world.call(admin, { url: '/api/v1/whoami', headers: { 'x-request-id': 'mine-1' } });
    expect(answer.headers['x-request-id']).toBe('mine-1');
  });

  test('join-hosts-starts-an-operation-that-can-be-followed', async () => {
    const answer = await post('/api/v1/hosts', { hosts: [{ name: 'new-1' }, { name: 'new-2', site: 'north' }] });
    expect(answer.statusCode).toBe(202);
    const { operation } = answer.json<{ operation: string }>();
    expect(answer.headers['location']).toBe(`/api/v1/operations/${operation}`);
    const shown = await world.call(admin, { url: `/api/v1/operations/${operation}` });
    expect(shown.json()).toMatchObject({ kind: 'host-join', state: 'running', counts: { pending: 2, done: 0 } });
    const items = await world.call(admin, { url: `/api/v1/operations/${operation}/items?limit=1` });
    expect(items.json()).toMatchObject({ items: [{ target: { id: 'new-1' }, state: 'pending' }] });
    const cancelled = await post(`/api/v1/operations/${operation}/cancel`, {});
    expect(cancelled.json()).toMatchObject({ state: 'cancelling', counts: { pending: 2, done: 0 } });
  });
});

describe('If-Match', () => {
  test('with the ETag of the answer lets the write through, and then is too old', async () => {
    const read = await world.call(admin, { url: '/api/v1/hosts/central-1' });
    const etag = String(read.headers['etag']);
    const url = '/api/v1/hosts/central-1/disable';
    const first = await post(url, { reason: 'one' }, { 'if-match': etag });
    expect(first.statusCode).toBe(200);
    const before = world.journal.fleet.revision;
    const second = await post(url, { reason: 'two' }, { 'if-match': etag });
    expect(second.statusCode).toBe(412);
    expect(second.json()).toMatchObject({
      code: 'revision-mismatch',
      actual: first.json<{ revision: number }>().revision,
    });
    expect(world.journal.fleet.revision).toBe(before);
  });

  test('never: the ETag of another journal lets a write through, though the revision is the same', async () => {
    const url = '/api/v1/hosts/central-2/disable';
    const read = await world.call(admin, { url: '/api/v1/hosts/central-2' });
    const [, revision = ''] = /^"(\d+)-/.exec(String(read.headers['etag'])) ?? [];
    const refused = await post(url, { reason: 'one' }, { 'if-match': `"${revision}-00000000"` });
    expect(refused.json()).toMatchObject({ status: 412, code: 'revision-mismatch' });
    expect((await post(url, { reason: 'one' }, { 'if-match': `"${revision}"` })).statusCode).toBe(200);
  });

  test.each(['42', 'W/"1"', '"x"', '"1-x"'])('that is not an ETag is refused: %s', async (header) => {
    const answer = await post('/api/v1/hosts/central-1/enable', {}, { 'if-match': header });
    expect(answer.statusCode).toBe(400);
    expect(answer.json()).toMatchObject({ code: 'malformed-header' });
  });

  test('is refused where no one resource is changed', async () => {
    const answer = await post('/api/v1/sites', { name: 'west' }, { 'if-match': '"1"' });
    expect(answer.json()).toMatchObject({ status: 400, code: 'if-match-not-supported' });
  });

  test('an unchanged resource is answered 304 to If-None-Match', async () => {
    const read = await world.call(admin, { url: '/api/v1/hosts/central-2' });
    const again = await world.call(admin, {
      url: '/api/v1/hosts/central-2',
      headers: { 'if-none-match': String(read.headers['etag']) },
    });
    expect([again.statusCode, again.body]).toEqual([304, '']);
  });
});

describe('Idempotency-Key', () => {
  const site = (name: string, key: string) => post('/api/v1/sites', { name }, { 'idempotency-key': key });

  test('same key and body: one effect, the same answer', async () => {
    const first = await site('east', 'k1');
    const revision = world.journal.fleet.revision;
    const second = await site('east', 'k1');
    expect(first.statusCode).toBe(201);
    expect([second.statusCode, second.body]).toEqual([first.statusCode, first.body]);
    expect(second.headers).toMatchObject({
      location: first.headers['location'],
      etag: first.headers['etag'],
      'idempotency-replayed': 'true',
    });
    expect(world.journal.fleet.revision).toBe(revision);
  });

  test('the order of the fields does not make another body', async () => {
    const url = '/api/v1/sites';
    const headers = { 'idempotency-key': 'k-order', 'content-type': 'application/json' };
    const first = await world.call(admin, { method: 'POST', url, headers, payload: '{"name":"o1","description":"d"}' });
    const second = await world.call(admin, {
      method: 'POST',
      url,
      headers,
      payload: '{ "description":"d", "name":"o1" }',
    });
    expect([second.statusCode, second.body]).toEqual([201, first.body]);
  });

  test('same key, another body: 409 and no effect', async () => {
    await site('e2', 'k2');
    const revision = world.journal.fleet.revision;
    const other = await site('e3', 'k2');
    expect(other.json()).toMatchObject({ status: 409, code: 'idempotency-key-reused' });
    expect(world.journal.fleet.revision).toBe(revision);
  });

  test('the same key of another caller is another key', async () => {
    const other = await world.token('admin');
    await site('e4', 'k4');
    const payload = { name: 'e5' };
    const headers = { 'idempotency-key': 'k4' };
    const answer = await world.call(other, { method: 'POST', url: '/api/v1/sites', payload, headers });
    expect(answer.statusCode).toBe(201);
  });

  test('twenty at once have one effect and one answer', async () => {
    const revision = world.journal.fleet.revision;
    const answers = await Promise.all(Array.from({ length: 20 }, () => site('busy', 'k5')));
    expect(new Set(answers.map((answer) => `${answer.statusCode} ${answer.body}`)).size).toBe(1);
    expect(answers[0]?.statusCode).toBe(201);
    expect(world.journal.fleet.revision).toBe(revision + 1);
  });

  test('a refused request is not kept: mended, it goes through', async () => {
    const refusedFirst = await post(
      '/api/v1/hosts',
      { hosts: [{ name: 'late', site: 'later' }] },
      { 'idempotency-key': 'k6' },
    );
    expect(refusedFirst.statusCode).toBe(422);
    await post('/api/v1/sites', { name: 'later' });
    const again = await post(
      '/api/v1/hosts',
      { hosts: [{ name: 'late', site: 'later' }] },
      { 'idempotency-key': 'k6' },
    );
    expect(again.statusCode).toBe(202);
  });

  test('what was answered is shown again as it was, whatever became of it since', async () => {
    const first = await site('then', 'k-then');
    await world.call(admin, { method: 'PATCH', url: '/api/v1/sites/then', payload: { description: 'now' } });
    const again = await site('then', 'k-then');
    expect([again.body, again.headers['etag']]).toEqual([first.body, first.headers['etag']]);
    const remove = () =>
      world.call(admin, { method: 'DELETE', url: '/api/v1/sites/then', headers: { 'idempotency-key': 'k-gone' } });
    const removed = await remove();
    expect(removed.statusCode).toBe(200);
    expect((await remove()).body).toBe(removed.body);
    expect((await site('then', 'k-then')).body).toBe(first.body);
  });

  test('what became of each of many is shown again as it was', async () => {
    const hosts = ['central-0', 'central-1', 'central-2'];
    const start = () => post('/api/v1/scale-in/start', { hosts }, { 'idempotency-key': 'k-long' });
    const first = await start();
    const again = await start();
    expect([again.statusCode, again.json()]).toEqual([first.statusCode, first.json()]);
    expect(again.headers['location']).toBe(first.headers['location']);
  });

  test('what became of each of very many is shown again as it was, in the order of their names', async () => {
    const hosts = Array.from({ length: 900 }, (_, at) => `very-${'many-'.repeat(8)}${at}`);
    await world.commit(...hosts.map((name) => hostChange(name)));
    const start = () => post('/api/v1/scale-in/start', { hosts }, { 'idempotency-key': 'k-very-long' });
    const first = await start();
    const again = await start();
    expect(first.json<{ hosts: unknown[] }>().hosts).toHaveLength(900);
    expect([again.statusCode, again.body]).toEqual([first.statusCode, first.body]);
    // Once they leave, another request is answered with the operation that they have in common.
    const other = () => post('/api/v1/scale-in/start', { hosts: hosts.slice(5) }, { 'idempotency-key': 'k-once-more' });
    const unchanged = await other();
    expect(unchanged.json()).toMatchObject({ operation: first.json<{ operation: string }>().operation });
    const repeated = await other();
    expect([repeated.body, repeated.headers['location']]).toEqual([unchanged.body, unchanged.headers['location']]);
  });

  test('what became of hosts that were named by other ids is shown again as it was', async () => {
    await world.commit(
      ...[1, 2].map((nth) =>
        hostChange(`other-${nth}`, { switch: { datapathId: (900 + nth).toString(16).padStart(16, '0') } }),
      ),
    );
    const hosts = ['other-2', 'openflow:901'];
    const start = () => post('/api/v1/scale-in/start', { hosts }, { 'idempotency-key': 'k-other-ids' });
    const first = await start();
    expect([first.statusCode, first.body]).toEqual([202, expect.stringContaining('"host":"openflow:901"')]);
    expect((await start()).body).toBe(first.body);
  });

  test('the counts of a cancelled operation are shown again as they were', async () => {
    const joining = await post('/api/v1/hosts', { hosts: [{ name: 'to-cancel' }] });
    const { operation } = joining.json<{ operation: string }>();
    const cancel = () => post(`/api/v1/operations/${operation}/cancel`, {}, { 'idempotency-key': 'k-cancel' });
    const first = await cancel();
    expect(first.json()).toMatchObject({ id: operation, counts: { pending: expect.any(Number) as number } });
    const again = await cancel();
    expect([again.body, again.headers['etag']]).toEqual([first.body, first.headers['etag']]);
  });

  test('an answer that is too long to keep is replaced by where to look', async () => {
    const names = Array.from({ length: 400 }, (_, at) => `${'many-'.repeat(10)}${at}`);
    // One that is named by another id makes the list one that is kept as it is.
    await world.commit(
      ...names.map((name, at) => hostChange(name, { ...(at === 0 && { switch: { datapathId: '0000000000000384' } }) })),
    );
    const hosts = ['openflow:900', ...names.slice(1)];
    const start = () => post('/api/v1/scale-in/start', { hosts }, { 'idempotency-key': 'k-too-long' });
    const first = await start();
    const { operation } = first.json<{ operation: string }>();
    const again = await start();
    expect(again.json()).toMatchObject({ operation, note: expect.stringContaining('was carried out') as string });
    expect([again.statusCode, again.headers['location']]).toEqual([first.statusCode, first.headers['location']]);
  });

  test('an answer that the version before has kept is still shown', async () => {
    const former = {
      request: hashSecret('POST /api/v1/sites\n{"name":"former"}'),
      status: 201,
      body: '{"id":"former"}',
      headers: { location: '/api/v1/sites/former', etag: '"7"' },
      secrets: [],
      expiresAtMs: world.clock.nowMs() + 60_000,
    };
    const id = idOf(IDEMPOTENCY, hashSecret(`${tokenIdIn(admin)}\nk-former`));
    await world.commit(put(IDEMPOTENCY, id, former));
    const answer = await site('former', 'k-former');
    expect([answer.statusCode, answer.body, answer.headers['location']]).toEqual([
      201,
      '{"id":"former"}',
      '/api/v1/sites/former',
    ]);
    expect((await site('another', 'k-former')).json()).toMatchObject({ code: 'idempotency-key-reused' });
  });

  test('is kept for a day and forgotten an hour later at the latest', async () => {
    await site('day', 'k7');
    world.clock.ahead(24 * 3600 * 1000 - 1000);
    expect((await site('day', 'k7')).statusCode).toBe(201);
    world.clock.ahead(3600 * 1000 + 1000);
    const { journal, clock } = world;
    const retention = new RetentionController({
      journal,
      clock,
      log: { info: () => undefined, warn: () => undefined },
    });
    await retention.sweep(new AbortController().signal);
    const later = await site('day', 'k7');
    expect(later.json()).toMatchObject({ status: 409, code: 'site-exists' });
  });

  test('the answer to the largest join is kept as well', async () => {
    const hosts = Array.from({ length: 1000 }, (_, at) => ({ name: `a-host-with-quite-a-long-name-${at}` }));
    const headers = { 'idempotency-key': 'many' };
    const first = await post('/api/v1/hosts', { hosts }, headers);
    expect(first.json()).toMatchObject({ count: 1000 });
    expect((await post('/api/v1/hosts', { hosts }, headers)).json()).toEqual(first.json());
  });

  test('a secret is shown once, and the repeated answer says so', async () => {
    const make = () => post('/api/v1/tokens', { name: 'ci', role: 'viewer' }, { 'idempotency-key': 'k8' });
    const first = (await make()).json<Record<string, string>>();
    expect(first['secret']).toMatch(/^mst_/);
    const { secret: _, ...shown } = first;
    const again = (await make()).json<Record<string, string>>();
    expect(again).toEqual({ ...shown, note: expect.stringContaining('shown then and is not kept') as string });
    expect(JSON.stringify([...world.journal.fleet.all(IDEMPOTENCY)])).not.toContain(first['secret']);
    expect([...world.journal.fleet.all(TOKEN)].filter((token) => token.doc.name === 'ci')).toHaveLength(1);
  });

  test('of a strange form is refused', async () => {
    expect((await site('x', 'a b')).json()).toMatchObject({ status: 400, code: 'malformed-header' });
    expect((await site('x', 'a'.repeat(201))).json()).toMatchObject({ status: 400, code: 'malformed-header' });
  });
});
