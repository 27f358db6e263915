// Several servers at once on one database, with refusals and cut sessions: one order, no gap, and a follower that never
// sees n+1 before n.
import { execFile } from 'node:child_process';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { readAll, replay, snapshotOf } from '../../src/journal/contract/world.ts';
import type { Position, StoredCommit, Store } from '../../src/journal/store.ts';
import { withRetries, cutSessions, freshDatabase, openForTest, postgresSuite } from './suite.ts';
import type { WriterLine } from './writer.ts';

const run = promisify(execFile);
const WRITERS = ['w1', 'w2', 'w3', 'w4'];
const GROUPS_EACH = 150;
const CUTS = 8;

postgresSuite('postgres-processes', (postgres) => {
  test('several-processes-with-rollbacks-give-one-order-without-gaps', async () => {
    const url = await freshDatabase(postgres.url);
    const store = await openForTest(url);
    const done = new AbortController();
    onTestFinished(() => done.abort());
    const following = follow(store, done.signal);
    const writers = Promise.all(WRITERS.map((name) => write(url, name)));
    for (let cut = 0; cut < CUTS; cut += 1) {
      await setTimeout(100 * Math.random());
      await cutSessions(url);
    }
    const lines = (await writers).flat();
    const commits = await withRetries(() => readAll(store));
    done.abort();
    expect(await following).toEqual([]);
    expect(commits.map((one) => one.revision)).toEqual(commits.map((_, index) => index + 1));
    expectOutcomes(lines, commits);
    expect((await snapshotOf(store)).resources).toEqual(replay([], commits));
  });
});

async function write(url: string, name: string): Promise<WriterLine[]> {
  const script = new URL('writer.ts', import.meta.url).pathname;
  const { stdout } = await run(process.execPath, [script, url, name, String(GROUPS_EACH)], { maxBuffer: 1 << 24 });
  const [, ...lines] = stdout.trim().split('\n');
  return lines.map((line) => JSON.parse(line) as WriterLine);
}

/** Reads on and on; answers the jumps it saw, which should be none. */
async function follow(store: Store, signal: AbortSignal): Promise<string[]> {
  const jumps: string[] = [];
  let at: Position = { revision: 0 };
  while (!signal.aborted) {
    const from = at;
    const answer = await withRetries(() => store.read(from, 50));
    if (answer.kind !== 'commits') return [...jumps, `${answer.kind} at ${at.revision}`];
    for (const { revision, id } of answer.commits) {
      if (revision !== at.revision + 1) jumps.push(`${at.revision} to ${revision}`);
      at = { revision, commitId: id };
    }
    if (answer.commits.length === 0)
      await store.waitForChange(at.revision, AbortSignal.any([signal, AbortSignal.timeout(20)]));
  }
  return jumps;
}

function expectOutcomes(lines: readonly WriterLine[], commits: readonly StoredCommit[]): void {
  const revisions = new Map(commits.map((one) => [one.id, one.revision]));
  const found = (line: WriterLine): (number | undefined)[] => line.ids.map((id) => revisions.get(id));
  for (const line of lines) {
    const { ids, outcome, revision = 0 } = line;
    const together = ids.map((_, at) => revision - ids.length + 1 + at);
    if (outcome === 'written') expect([line, found(line)]).toEqual([line, together]);
    if (outcome === 'conflict' || outcome === 'failed') expect(found(line)).toEqual(ids.map(() => undefined));
    // Whatever became of it, it became whole.
    if (outcome === 'unknown') expect(new Set(found(line).map((one) => one === undefined)).size).toBe(1);
  }
  expect(new Set(lines.map((line) => line.outcome))).toContain('conflict');
  expect(lines).toHaveLength(WRITERS.length * GROUPS_EACH);
}
