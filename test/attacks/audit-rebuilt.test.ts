// An export of the audit while the store falls back to an older state, or forgets what was not read yet: it says that it is not whole, and never joins
// two histories into one that no server wrote.
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { StoredCommit } from '../../src/journal/index.ts';
import { MemoryStore } from '../../src/journal/memory-store.ts';
import { startApiTestServer, type ApiTestServer } from '../api/api-test-server.ts';

interface Line {
  readonly type: 'commit' | 'refusal' | 'end' | 'error';
  readonly revision?: number;
  readonly by?: string;
  readonly code?: string;
}

const COMMITS = 170;

let world: ApiTestServer;
let admin: string;

beforeEach(async () => {
  world = await startApiTestServer();
  admin = await world.token('admin');
  for (let nth = 0; nth < COMMITS; nth += 1) await world.token('viewer');
});
afterEach(() => world.close());

/** Exports, and does something before the second page is read. */
async function exportAround(happens: () => Promise<unknown>): Promise<Line[]> {
  const { store } = world.journal;
  const read = store.read.bind(store);
  let last = -1;
  let pages = 0;
  store.read = async (after, limit) => {
    // Looking for the beginning reads single commits.
    if (limit > 1 && after.revision !== last) {
      last = after.revision;
      pages += 1;
      if (pages === 2) await happens();
    }
    return read(after, limit);
  };
  const { statusCode, body } = await world.call(admin, { method: 'GET', url: '/api/v1/audit' });
  expect(statusCode).toBe(200);
  expect(pages).toBeGreaterThan(1);
  return body
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
}

/** The store loses the commits after a revision, as a standby that lagged and was promoted. */
function fallBackTo(revision: number): void {
  world.disk.change(({ commits }) => void commits.splice(revision - (commits[0] as StoredCommit).revision + 1));
}

async function writeElsewhere(count: number): Promise<void> {
  const batches = Array.from({ length: count }, (_, nth) => ({
    id: `other-${nth}`,
    atMs: world.clock.nowMs(),
    by: 'other-history',
    changes: [],
    preconditions: [],
  }));
  await new MemoryStore(world.disk).write({ batches });
}

function expectUnfinished(lines: readonly Line[], code: string): void {
  expect(lines.at(-1)).toMatchObject({ type: 'error', code });
  expect(lines.filter(({ type }) => type === 'end')).toEqual([]);
}

test('one that nothing happens to is whole', async () => {
  const lines = await exportAround(() => Promise.resolve());
  expect(lines.at(-1)).toMatchObject({ type: 'end', commits: lines.length - 1, revision: lines.length - 1 });
  const revisions = lines.slice(0, -1).map(({ revision }) => revision);
  expect(revisions).toEqual(revisions.map((_, nth) => nth + 1));
});

test.each([
  ['below what was read', 20, 0],
  ['below what was read, and goes on differently', 20, 60],
  ['below what was read, and goes on differently beyond the head', 20, 300],
  ['above what was read', 100, 0],
  ['above what was read, and goes on differently', 100, 20],
  ['above what was read, and goes on differently beyond the head', 100, 300],
])('the store falls back %s', async (_name, revision, more) => {
  const lines = await exportAround(async () => {
    fallBackTo(revision);
    if (more > 0) await writeElsewhere(more);
  });
  expectUnfinished(lines, 'journal-diverged');
});

test('commits are forgotten that were not read yet: the hole is not passed over', async () => {
  const lines = await exportAround(() => world.journal.store.compact(Infinity, 100));
  expectUnfinished(lines, 'journal-compacted');
});

test('commits were forgotten before it began: it begins with the oldest that is kept', async () => {
  await world.journal.store.compact(Infinity, 100);
  const lines = await exportAround(() => Promise.resolve());
  expect(lines[0]).toMatchObject({ type: 'commit', revision: 101 });
  expect(lines.at(-1)).toMatchObject({ type: 'end', commits: lines.length - 1 });
});
