// Watching and looking back: from any revision, across a reconnect, past compaction, for those who may see only a part.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { tokenIdIn } from '../../src/access/index.ts';
import { idOf, remove } from '../../src/fleet/index.ts';
import { HOST } from '../../src/hosts/index.ts';
import { openStream, type Reader } from './sse.ts';
import { hostChange, populate, startApiTestServer, type ApiTestServer } from './api-test-server.ts';

let world: ApiTestServer;
let viewer: string;
let admin: string;
let url: string;
const open: Reader[] = [];

beforeEach(async () => {
  world = await startApiTestServer({ keepAliveMs: 50 });
  await populate(world);
  viewer = await world.token('viewer');
  admin = await world.token('admin');
  url = await world.server.listen({ host: '127.0.0.1', port: 0 });
});
afterEach(async () => {
  for (const reader of open.splice(0)) reader.close();
  await world.close();
});

async function watch(query: string, secret = viewer, headers: Record<string, string> = {}): Promise<Reader> {
  const reader = await openStream(`${url}/api/v1/watch${query}`, { authorization: `Bearer ${secret}`, ...headers });
  open.push(reader);
  return reader;
}

interface WatchEvents {
  readonly revision: number;
  readonly changes: readonly { readonly kind: string; readonly id: string; readonly doc: object | null }[];
}

async function readEvents(reader: Reader): Promise<WatchEvents> {
  const event = await reader.next();
  expect(event.event).toBe('commit');
  const commit = JSON.parse(event.data) as WatchEvents;
  expect(event.id).toMatch(new RegExp(`^${commit.revision}\\.c-`));
  return commit;
}

describe('GET /api/v1/watch', () => {
  test('begins at the requested revision and misses nothing, whatever comes while it reads', async () => {
    const from = world.journal.fleet.revision;
    for (let at = 0; at < 30; at += 1) await world.commit(hostChange(`w-${at}`));
    const reader = await watch(`?after=${from}`);
    const data = JSON.stringify({ revision: from, head: from + 30, journal: world.journal.journalId });
    expect(await reader.next()).toMatchObject({ event: 'open', id: String(from), data });
    for (let at = 30; at < 60; at += 1) await world.commit(hostChange(`w-${at}`));
    const ids: string[] = [];
    for (let at = 0; at < 60; at += 1) ids.push(...(await readEvents(reader)).changes.map((change) => change.id));
    expect(ids).toEqual(Array.from({ length: 60 }, (_, at) => `w-${at}`));
  });

  test('without a revision begins now', async () => {
    const reader = await watch('');
    expect(await reader.next()).toMatchObject({ event: 'open' });
    const revision = await world.commit(hostChange('now'));
    expect(await readEvents(reader)).toMatchObject({ revision, changes: [{ kind: 'host', id: 'now' }] });
  });

  test('continues after a reconnect with Last-Event-ID, which takes precedence over the query', async () => {
    const from = world.journal.fleet.revision;
    const reader = await watch(`?after=${from}`);
    await world.commit(hostChange('one'));
    await reader.next();
    await readEvents(reader);
    reader.close();
    const missed = await world.commit(hostChange('two'));
    const again = await watch(`?after=${from}`, viewer, { 'last-event-id': reader.lastId() ?? '' });
    await again.next();
    expect(await readEvents(again)).toMatchObject({ revision: missed, changes: [{ id: 'two' }] });
  });

  test('shows the requested kinds, and moves past the others', async () => {
    const reader = await watch('?kind=site,operation');
    await reader.next();
    const skipped = await world.commit(hostChange('unseen'));
    await expect.poll(() => reader.lastId()).toMatch(`${skipped}.c-`);
    await world.call(admin, { method: 'POST', url: '/api/v1/sites', payload: { name: 'east' } });
    expect(await readEvents(reader)).toMatchObject({ changes: [{ kind: 'site', id: 'east' }] });
    expect(reader.raw()).not.toContain('unseen');
    const wrong = await watch('?kind=hots');
    expect(wrong.status).toBe(422);
    expect(JSON.parse(await wrong.body())).toMatchObject({
      code: 'unknown-kind',
      detail: expect.stringContaining('"host"') as string,
    });
  });

  test('a-compacted-revision-is-410-with-the-oldest-kept', async () => {
    for (let at = 0; at < 10; at += 1) await world.commit(hostChange(`c-${at}`));
    // Beyond what is kept in memory, only the store knows: a fresh server on the same disk has nothing in memory.
    await world.journal.store.compact(world.clock.nowMs() + 1, 8);
    const other = await startApiTestServer({ disk: world.disk, clock: world.clock, leads: false });
    const otherUrl = await other.server.listen({ host: '127.0.0.1', port: 0 });
    const reader = await openStream(`${otherUrl}/api/v1/watch?after=1`, { authorization: `Bearer ${viewer}` });
    expect(reader.status).toBe(410);
    expect(JSON.parse(await reader.body())).toMatchObject({ code: 'revision-gone', oldest: 9 });
    const kept = await openStream(`${otherUrl}/api/v1/watch?after=8`, { authorization: `Bearer ${viewer}` });
    expect(kept.status).toBe(200);
    kept.close();
    const history = await other.call(viewer, { url: '/api/v1/history?before=9' });
    expect(history.json()).toMatchObject({ status: 410, oldest: 9 });
    await other.close();
  });

  test.each([
    ['before the newest commit', 1],
    ['at the newest commit', 0],
  ])('never: continues after a commit that the journal does not have, %s', async (_where, behind) => {
    const seen = await world.commit(hostChange('seen'));
    for (let at = 0; at < behind; at += 1) await world.commit(hostChange('newer'));
    const reader = await watch('', viewer, { 'last-event-id': `${seen}.c-of-another-journal` });
    expect(reader.status).toBe(409);
    expect(JSON.parse(await reader.body())).toMatchObject({ code: 'journal-diverged', revision: seen });
    // Without the commit, as an older client names it, a revision is taken as it is.
    const old = await watch('', viewer, { 'last-event-id': String(seen) });
    expect(old.status).toBe(200);
    old.close();
  });

  test('a revision that is not reached is refused, not waited for without end', async () => {
    const reader = await watch('?after=100000');
    expect(reader.status).toBe(409);
    expect(JSON.parse(await reader.body())).toMatchObject({ code: 'revision-ahead' });
  });

  test('shows a site-bound caller its own site, deletions included', async () => {
    const bound = await world.token('viewer', { site: 'north' });
    const reader = await watch('', bound);
    await reader.next();
    await world.commit(hostChange('c-1'), hostChange('n-1', { site: 'north' }));
    expect((await readEvents(reader)).changes.map((change) => change.id)).toEqual(['n-1']);
    await world.commit(remove(HOST, idOf(HOST, 'c-1')));
    await world.commit(remove(HOST, idOf(HOST, 'n-1')));
    expect((await readEvents(reader)).changes).toEqual([{ kind: 'host', id: 'n-1', doc: null }]);
    expect(reader.raw()).not.toContain('c-1');
  });

  test('shows tokens to admins only, and never their hash', async () => {
    const [seer, other] = [await watch('', admin), await watch('')];
    await Promise.all([seer.next(), other.next()]);
    const answer = await world.call(admin, {
      method: 'POST',
      url: '/api/v1/tokens',
      payload: { name: 't', role: 'viewer' },
    });
    expect((await readEvents(seer)).changes).toMatchObject([{ kind: 'token', doc: { name: 't', role: 'viewer' } }]);
    await world.commit(hostChange('after'));
    expect((await readEvents(other)).changes).toMatchObject([{ id: 'after' }]);
    expect(seer.raw() + other.raw()).not.toContain('hash');
    expect(seer.raw()).not.toContain(answer.json<{ secret: string }>().secret);
  });

  test('says that it is still there, and ends when its token is revoked', async () => {
    const reader = await watch('');
    await expect.poll(() => reader.raw()).toContain(': keep-alive\n');
    await world.call(admin, { method: 'DELETE', url: `/api/v1/tokens/${tokenIdIn(viewer)}` });
    await reader.ended;
  });

  test('a reader that does not read holds no other up, and gets everything when it does', async () => {
    const slow = await watch(`?after=${world.journal.fleet.revision}`);
    slow.pause();
    const traits = Array.from({ length: 200 }, (_, at) => `trait-${at}-${'x'.repeat(80)}`);
    for (let at = 0; at < 300; at += 1) await world.commit(hostChange(`big-${at}`, { traits }));
    slow.resume();
    await slow.next();
    for (let at = 0; at < 300; at += 1) expect((await readEvents(slow)).changes[0]?.id).toBe(`big-${at}`);
  });

  test('ends cleanly when the server closes', async () => {
    const reader = await watch('');
    await reader.next();
    await world.server.close();
    await reader.ended;
    expect(reader.raw().endsWith('\n\n')).toBe(true);
  });

  test('more streams than allowed are refused', async () => {
    const small = await startApiTestServer({ limits: { streams: 1 } });
    const secret = await small.token('viewer');
    const at = await small.server.listen({ host: '127.0.0.1', port: 0 });
    const headers = { authorization: `Bearer ${secret}` };
    const first = await openStream(`${at}/api/v1/watch`, headers);
    const second = await openStream(`${at}/api/v1/watch`, headers);
    expect([first.status, second.status]).toEqual([200, 503]);
    const refused = await fetch(`${at}/api/v1/watch`, { headers });
    expect(await refused.json()).toMatchObject({
      code: 'too-many-streams',
      detail: 'This server has as many streams open as it takes. Close some, or ask another server.',
    });
    first.close();
    await small.close();
  });

  test('never: more streams open than allowed because they were requested at once and had to wait', async () => {
    const small = await startApiTestServer({ limits: { streams: 1 } });
    const secret = await small.token('viewer');
    const at = await small.server.listen({ host: '127.0.0.1', port: 0 });
    const { revision } = small.journal.fleet;
    const ask = (after: number): Promise<Reader> =>
      openStream(`${at}/api/v1/watch?after=${after}`, { authorization: `Bearer ${secret}` });
    // What was refused after a wait has given its place back.
    expect((await ask(revision + 1000)).status).toBe(409);
    const requests = [ask(revision + 1), ask(revision + 1), ask(revision + 1)];
    await new Promise((later) => setTimeout(later, 200));
    await small.commit(hostChange('late'));
    const readers = await Promise.all(requests);
    expect(readers.map(({ status }) => String(status)).sort()).toEqual(['200', '503', '503']);
    // And so has one that was closed.
    for (const reader of readers) reader.close();
    await expect.poll(async () => (await ask(revision)).status).toBe(200);
    await small.close();
  });
});

describe('GET /api/v1/history', () => {
  test('shows who, when, why, and which fields changed', async () => {
    await world.call(admin, { method: 'POST', url: '/api/v1/hosts/central-0/disable', payload: { reason: 'fans' } });
    await world.call(admin, { method: 'POST', url: '/api/v1/hosts/central-0/enable' });
    const answer = await world.call(viewer, { url: '/api/v1/history?kind=host&id=central-0' });
    const { items } = answer.json<{
      items: { by: string; why: string; changes: { fields: { field: string }[] }[] }[];
    }>();
    expect(items.map((item) => item.why)).toEqual(['enable', 'disable: fans', undefined]);
    expect(items[0]?.by).toMatch(/^admin/);
    expect(items[1]?.changes[0]?.fields).toContainEqual({ field: '/enabled', from: true, to: false });
    expect(items[0]?.changes[0]?.fields.map((one) => one.field)).toContain('/disabled');
  });

  test('has every change of a large commit, in its order', async () => {
    const names = Array.from({ length: 120 }, (_, at) => `many-${String(at).padStart(3, '0')}`);
    const joined = { hosts: names.map((name) => ({ name })) };
    const { statusCode } = await world.call(admin, { method: 'POST', url: '/api/v1/hosts', payload: joined });
    expect(statusCode).toBe(202);
    const answer = await world.call(viewer, { url: '/api/v1/history?kind=host&limit=1' });
    const { items } = answer.json<{ items: { changes: { id: string; doc: { name: string } }[] }[] }>();
    expect(items[0]?.changes.map(({ id, doc }) => [id, doc.name])).toEqual(names.map((name) => [name, name]));
  });

  test('pages from the newest to the oldest', async () => {
    const seen: number[] = [];
    let query = 'limit=2';
    for (;;) {
      const page = (await world.call(viewer, { url: `/api/v1/history?${query}` })).json<{
        items: { revision: number }[];
        next?: number;
      }>();
      seen.push(...page.items.map((item) => item.revision));
      if (page.next === undefined) break;
      query = `limit=2&before=${page.next}`;
    }
    expect(seen).toEqual([...seen].sort((one, other) => other - one));
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.at(-1)).toBe(1);
  });

  test('shows a site-bound caller its own site and a viewer no tokens', async () => {
    const bound = await world.token('viewer', { site: 'north' });
    const changes = async (secret: string): Promise<{ kind: string; id: string }[]> =>
      (await world.call(secret, { url: '/api/v1/history' }))
        .json<{ items: { changes: { kind: string; id: string }[] }[] }>()
        .items.flatMap((item) => item.changes);
    expect((await changes(bound)).map((one) => one.id)).toEqual(['north', 'north-0', 'north-1', 'north-2']);
    expect((await changes(viewer)).filter((one) => one.kind === 'token')).toEqual([]);
    expect((await changes(admin)).filter((one) => one.kind === 'token')).toHaveLength(3);
  });
});
