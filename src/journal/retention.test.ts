import { Type } from 'typebox';
import { describe, expect, test } from 'vitest';
import { put, Registry, schemaKind, SETTING, type Id } from '../fleet/index.ts';
import { Journal } from './journal.ts';
import { MemoryDisk } from './memory-disk.ts';
import { MemoryStore } from './memory-store.ts';
import { accept } from './request.ts';
import { RetentionController } from './retention-controller.ts';
import { deleteExpired, planRetention, WALK_START, type ExpiredDocument, type WalkPosition } from './retention.ts';

const DAY_MS = 24 * 3600 * 1000;
const START_MS = 1000 * DAY_MS;

interface Work {
  readonly endsAtMs?: number;
}
interface Part {
  readonly of: string;
}

// The shapes of operations and their items, which belong to a module above this one.
const WORK = schemaKind('work', Type.Object({ endsAtMs: Type.Optional(Type.Integer()) }), {
  expiresAtMs: (doc: Work) => doc.endsAtMs,
});
const PART = schemaKind('part', Type.Object({ of: Type.String() }), {
  expiresAtMs: (doc: Part, fleet) => {
    const work = fleet.get(WORK, doc.of as Id<'work'>);
    return work === undefined ? 0 : work.doc.endsAtMs;
  },
});
const KEPT = schemaKind('kept', Type.Object({}));

async function world() {
  let nowMs = START_MS;
  let made = 0;
  const store = new MemoryStore(new MemoryDisk({ journalId: 'j', nowMs: () => nowMs }));
  const clock = { nowMs: () => nowMs, sleep: () => Promise.resolve(), turn: () => Promise.resolve() };
  const ids = { next: (prefix: string) => `${prefix}-${(made += 1)}`, secret: () => 's' };
  const registry = new Registry([{ kinds: [SETTING, KEPT, WORK, PART] }]);
  const journal = new Journal({ store, registry, clock, ids });
  const lead = async (): Promise<void> => {
    const answer = await store.acquireLease({ name: 'fleet', holder: 'h', url: 'u', ttlMs: 10 ** 12 });
    await journal.lead({ lease: 'fleet', epoch: answer.lease?.epoch ?? 0 });
  };
  await lead();
  const commit = (...changes: ReturnType<typeof put>[]) =>
    journal.submit({ by: 'test', decide: () => accept(changes, undefined) });
  const work = (id: string, endsAtMs?: number) =>
    put(WORK, id as Id<'work'>, endsAtMs === undefined ? {} : { endsAtMs });
  const part = (id: string, of: string) => put(PART, id as Id<'part'>, { of });
  const log = { info: () => undefined, warn: () => undefined };
  const trust = { clock: true };
  const controller = new RetentionController({
    journal,
    clock,
    log,
    trustedNowMs: () => (trust.clock ? nowMs : undefined),
  });
  const look = () => controller.sweep(new AbortController().signal);
  const passDays = (days: number): void => void (nowMs += days * DAY_MS);
  return { journal, store, lead, commit, work, part, look, passDays, trust, now: () => nowMs };
}

type World = Awaited<ReturnType<typeof world>>;

function wholePlan({ journal, now }: World, limit: number): ExpiredDocument[] {
  const found: ExpiredDocument[] = [];
  for (let at: WalkPosition | undefined = WALK_START; at !== undefined;) {
    const plan: ReturnType<typeof planRetention> = planRetention(journal.fleet, at, { nowMs: now(), limit });
    found.push(...plan.expired);
    at = plan.next;
  }
  return found;
}

describe('retention', () => {
  test.each([1, 2, 3, 100])('retention-plans-only-what-has-expired, looking at %i at a time', async (limit) => {
    const w = await world();
    await w.commit(
      w.work('ended', START_MS),
      w.work('ends-later', START_MS + 1),
      w.work('open'),
      w.part('a', 'ended'),
      w.part('b', 'open'),
      w.part('orphan', 'nowhere'),
      put(KEPT, 'k' as Id<'kept'>, {}),
    );
    const planned = wholePlan(w, limit).map(({ kind, id }) => `${kind.name}/${id}`);
    expect(planned).toEqual(['work/ended', 'part/a', 'part/orphan']);
  });

  test('parts-go-with-what-they-hang-on, all in commits of at most 100', async () => {
    const w = await world();
    await w.commit(w.work('ended', START_MS + DAY_MS), w.work('open'), w.part('other', 'open'));
    await w.commit(...Array.from({ length: 250 }, (_, at) => w.part(`p${at}`, 'ended')));
    await w.look();
    expect(w.journal.fleet.count(PART)).toBe(251);
    w.passDays(2);
    const sizes: number[] = [];
    w.journal.onCommit(({ commit }) => void sizes.push(commit.changes.length));
    await w.look();
    expect([...w.journal.fleet.all(WORK)].map(({ id }) => id)).toEqual(['open']);
    expect([...w.journal.fleet.all(PART)].map(({ id }) => id)).toEqual(['other']);
    expect(sizes).toEqual([1, 100, 100, 50]);
    await w.look();
    expect(sizes).toHaveLength(4);
  });

  test('never: a document is deleted that has changed since it was scanned', async () => {
    const w = await world();
    await w.commit(w.work('ended', START_MS), w.part('a', 'ended'));
    const planned = wholePlan(w, 100);
    await w.commit(w.work('ended'));
    expect(deleteExpired(w.journal.fleet, planned, w.now())).toEqual(accept([], 0));
  });

  test('history-is-compacted-after-90-days or after what the setting says', async () => {
    const w = await world();
    for (let day = 0; day < 200; day += 1) {
      await w.commit(w.work(`w${day}`));
      w.passDays(1);
    }
    const kept = async () => (await w.store.history({ limit: 1000 })).commits.length;
    await w.look();
    expect(await kept()).toBe(90);
    await w.commit(
      put(SETTING, 'retention' as Id<'setting'>, { value: { historyDays: 10 }, changedBy: 'x', changedAtMs: 0 }),
    );
    await w.look();
    expect(await kept()).toBe(11);
    expect(w.journal.fleet.count(WORK)).toBe(200);
  });

  test('compaction-goes-on-slice-by-slice until all that is old is gone', async () => {
    const w = await world();
    await Promise.all(Array.from({ length: 2500 }, (_, at) => w.commit(w.work(`w${at}`))));
    w.passDays(91);
    await w.look();
    expect((await w.store.history({ limit: 10 })).commits).toHaveLength(1);
  });

  test('never: something is forgotten while the clock is not trusted', async () => {
    const w = await world();
    await w.commit(w.work('ended', START_MS));
    await w.commit(w.work('other'));
    w.passDays(100);
    w.trust.clock = false;
    await w.look();
    expect([w.journal.fleet.count(WORK), (await w.store.history({ limit: 10 })).commits.length]).toEqual([2, 2]);
    w.trust.clock = true;
    await w.look();
    expect(w.journal.fleet.count(WORK)).toBe(1);
  });

  test('a-server-that-does-not-decide-forgets-nothing', async () => {
    const w = await world();
    await w.commit(w.work('ended', START_MS));
    w.passDays(100);
    w.journal.stepDown();
    await w.look();
    expect(w.journal.fleet.count(WORK)).toBe(1);
  });

  test('a-server-that-does-not-decide-compacts-nothing', async () => {
    const w = await world();
    await w.commit(w.work('one'));
    await w.commit(w.work('other'));
    w.passDays(100);
    w.journal.stepDown();
    await w.look();
    expect((await w.store.history({ limit: 10 })).commits).toHaveLength(2);
    await w.lead();
    await w.look();
    expect((await w.store.history({ limit: 10 })).commits).toHaveLength(1);
  });
});
