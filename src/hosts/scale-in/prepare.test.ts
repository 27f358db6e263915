// Start and end of many hosts: planned in slices before their commit, which checks that the plan holds and plans nothing itself.
import { describe, expect, test } from 'vitest';
import { NOT_PREPARED, type RouteContext as RouteWorld } from '../../access/index.ts';
import { Fleet, idOf, Registry, remove, type Change, type FleetReader } from '../../fleet/index.ts';
import type { Decision } from '../../journal/index.ts';
import { OPERATION, operationsModel } from '../../operations/index.ts';
import { findHost } from '../decide.ts';
import { runInOneStep, type Evacuator } from '../evacuator.ts';
import { HOST } from '../model.ts';
import { previewScaleIn } from '../preview/preview.ts';
import { hostChange } from '../preview/preview-fixture.ts';
import type { ScaleInAnswer } from './answer.ts';
import { EVACUATORS, guests, hash, hostIn, activeHosts, MODELS, posts } from './scale-in-fixture.ts';
import { endInSlices, startInSlices, type PreparableDecision } from './prepare.ts';
import { startScaleIn, type StartScaleIn } from './decide.ts';

const HOSTS = 30;
const leaving = Array.from({ length: HOSTS }, (_, nth) => `l${String(nth).padStart(2, '0')}`);
const staying = ['s1', 's2', 's3'];
const REQUEST = { hosts: leaving, operation: idOf(OPERATION, 'op-1'), by: 'ann', nowMs: 5 };
const START: StartScaleIn = { ...REQUEST, drain: true, deadlineMs: 3_600_000 };

/** Two guests and two posts on each leaving host. */
function fleetOf(hosts: readonly Change[] = activeHosts(...leaving, ...staying)): Fleet {
  const fleet = new Fleet(new Registry([operationsModel, ...MODELS]));
  const tenants = leaving.flatMap((host) => [
    guests.put(`${host}-a`, { host }),
    guests.put(`${host}-b`, { host }),
    posts.put(`${host}-p`, { host, presence: [host, ...staying] }),
    posts.put(`${host}-q`, { host, presence: [host, ...staying] }),
  ]);
  fleet.apply(1, [...hosts, ...tenants]);
  return fleet;
}

const commit = (fleet: Fleet, ...changes: readonly Change[]): unknown => fleet.apply(fleet.revision + 1, changes);

/** The context of plans. Others commit after each slice; the clock advances by 1 ms each time that it is read. */
function prepareBetweenSlices(fleet: Fleet, between: (slice: number) => void = () => undefined) {
  let [slices, nowMs] = [0, 0];
  const world = {
    submit: (async (_, { decide }) => {
      const decision = decide(fleet);
      await Promise.resolve();
      between((slices += 1));
      if (decision.kind === 'accept') return { kind: 'accepted', revision: fleet.revision, answer: decision.answer };
      return { kind: 'refused', revision: fleet.revision, refusal: decision.refusal };
    }) as RouteWorld['submit'],
    clock: { nowMs: () => (nowMs += 1), turn: () => Promise.resolve() } as RouteWorld['clock'],
  };
  return { world, authority: {} as never, evacuators: EVACUATORS };
}

/** As the API does: prepared as often as needed. */
async function decided(
  fleet: Fleet,
  request: PreparableDecision,
): Promise<{ decision: Decision<ScaleInAnswer>; prepared: number }> {
  let verb = request;
  for (let prepared = 0; ; prepared += 1) {
    const decision = verb.decide(fleet);
    if (decision.kind === 'accept' || decision.refusal.code !== NOT_PREPARED) return { decision, prepared };
    const next = await verb.prepare?.();
    if (next === undefined) throw new Error('it cannot be prepared');
    if ('code' in next) return { decision: { kind: 'refuse', refusal: next }, prepared };
    verb = next;
  }
}

const planOf = (fleet: Fleet): { plan: string; hash: typeof hash } => {
  const budgets = { movesAtOnce: 32, movesPerHostAtOnce: 4 };
  const shown = previewScaleIn(fleet, EVACUATORS, { hosts: leaving, nowMs: 5, hash, budgets });
  if ('code' in shown) throw new Error(shown.message);
  return { plan: shown.planHash, hash };
};

describe('a start of many', () => {
  test('decides-what-it-would-in-one-go', async () => {
    const fleet = fleetOf();
    const { decision, prepared } = await decided(
      fleet,
      startInSlices(prepareBetweenSlices(fleet), () => START),
    );
    expect(prepared).toBe(1);
    expect(decision).toEqual(startScaleIn(fleet, EVACUATORS, START));
    expect(decision.kind === 'accept' && decision.changes.filter(({ kind }) => kind === 'post')).toHaveLength(
      2 * HOSTS,
    );
  });

  test('held-to-a-plan-it-decides-the-same', async () => {
    const fleet = fleetOf();
    const plan = planOf(fleet);
    const { decision } = await decided(
      fleet,
      startInSlices(prepareBetweenSlices(fleet), () => ({ ...START, plan })),
    );
    expect(decision).toEqual(startScaleIn(fleet, EVACUATORS, START));
  });

  test('never: its commit plans', async () => {
    const fleet = fleetOf();
    const plan = planOf(fleet);
    const calls: string[] = [];
    const counting = countingPlans(fleet, { ...START, plan });
    expect((await counting(calls)).kind).toBe('accept');
    expect(calls).toEqual([]);
  });

  test('plans-and-begins-with-its-hosts-leaving', async () => {
    const fleet = fleetOf();
    const seen: string[] = [];
    const statesIn = (reader: FleetReader): string =>
      [...new Set(leaving.map((host) => String(findHost(reader, host)?.doc.state)))].join();
    const watched = EVACUATORS.map((one): Evacuator => ({
      ...one,
      *plan(openTrial, ...rest) {
        const trial = yield* openTrial();
        seen.push(`plan ${one.name} ${statesIn(trial)}`);
        return yield* one.plan(() => runInOneStep(trial), ...rest);
      },
      begin: (reader, ...rest) => {
        seen.push(`begin ${one.name} ${statesIn(reader)}`);
        return one.begin(reader, ...rest);
      },
    }));
    await startInSlices({ ...prepareBetweenSlices(fleet), evacuators: watched }, () => START).prepare?.();
    expect(seen).toEqual(['plan posts draining', 'begin posts draining']);
    expect(statesIn(fleet)).toBe('active');
  });

  test('of few it is planned where it is decided', async () => {
    const fleet = fleetOf();
    const verb = startInSlices(prepareBetweenSlices(fleet), () => ({ ...START, hosts: leaving.slice(0, 3) }));
    expect(await decided(fleet, verb)).toMatchObject({ prepared: 0, decision: { kind: 'accept' } });
  });

  test('a-plan-that-is-another-is-refused-by-what-differs', async () => {
    const fleet = fleetOf();
    const plan = planOf(fleet);
    commit(fleet, guests.put('late', { host: 'l00' }));
    const { decision } = await decided(
      fleet,
      startInSlices(prepareBetweenSlices(fleet), () => ({ ...START, plan })),
    );
    expect(decision).toMatchObject({ refusal: { code: 'plan-changed', facts: { differs: ['tenants'] } } });
  });

  test.each([
    ['a-tenant-comes', () => guests.put('late', { host: 'l07' })],
    ['a-tenant-goes', () => remove({ name: 'guest' } as never, 'l07-a' as never)],
    ['a-tenant-is-written-anew', () => guests.put('l07-a', { host: 'l07', presence: ['s1'] })],
    ['the-host-goes-down', () => hostIn('l07', 'active', { connection: { state: 'down', sinceMs: 4 } })],
  ])('bound to a plan, it is planned again when, before its commit, %s', async (_, change) => {
    const fleet = fleetOf();
    const plan = planOf(fleet);
    const first = startInSlices(prepareBetweenSlices(fleet), () => ({ ...START, plan }));
    const next = await first.prepare?.();
    if (next === undefined || 'code' in next) throw new Error('it was not prepared');
    commit(fleet, change());
    expect(next.decide(fleet)).toMatchObject({ refusal: { code: NOT_PREPARED } });
    const { decision } = await decided(fleet, next);
    expect(decision).toEqual(startScaleIn(fleet, EVACUATORS, { ...START, plan }));
  });

  test('bound to a plan, it is not disturbed by changes on other hosts', async () => {
    const fleet = fleetOf();
    const plan = planOf(fleet);
    const busy = prepareBetweenSlices(fleet, (slice) => commit(fleet, guests.put(`other-${slice}`, { host: 's1' })));
    const { decision, prepared } = await decided(
      fleet,
      startInSlices(busy, () => ({ ...START, plan })),
    );
    expect([decision.kind, prepared]).toEqual(['accept', 1]);
  });

  test('bound to a plan, it is refused with a sentence when its hosts do not settle', async () => {
    const fleet = fleetOf();
    const plan = planOf(fleet);
    const restless = prepareBetweenSlices(fleet, (slice) =>
      commit(fleet, guests.put('l07-a', { host: 'l07', presence: [`s${slice}`] })),
    );
    const { decision, prepared } = await decided(
      fleet,
      startInSlices(restless, () => ({ ...START, plan })),
    );
    expect(decision).toMatchObject({ refusal: { kind: 'conflict', code: 'fleet-unsettled' } });
    expect(prepared).toBe(5);
  });

  test('bound to no plan, it starts all the same and leaves services to the drains', async () => {
    const fleet = fleetOf();
    const restless = prepareBetweenSlices(fleet, (slice) =>
      commit(fleet, posts.put('l07-p', { host: 'l07', presence: ['l07', 's1', `x${slice}`] })),
    );
    const { decision } = await decided(
      fleet,
      startInSlices(restless, () => START),
    );
    if (decision.kind === 'refuse') throw new Error(decision.refusal.message);
    expect(decision.changes.filter(({ kind }) => kind === 'host')).toHaveLength(HOSTS);
    expect(decision.changes.filter(({ kind }) => kind === 'post')).toEqual([]);
  });

  test('unknown-names-are-refused-before-anything-is-planned', async () => {
    const fleet = fleetOf();
    const verb = startInSlices(prepareBetweenSlices(fleet), () => ({ ...START, hosts: [...leaving, 'nobody'] }));
    expect(await decided(fleet, verb)).toMatchObject({
      prepared: 0,
      decision: { refusal: { code: 'unknown-host' } },
    });
  });

  test('asked-again-it-has-nothing-to-plan', async () => {
    const fleet = fleetOf();
    const { decision } = await decided(
      fleet,
      startInSlices(prepareBetweenSlices(fleet), () => START),
    );
    if (decision.kind === 'refuse') throw new Error(decision.refusal.message);
    commit(fleet, ...decision.changes);
    const again = startInSlices(prepareBetweenSlices(fleet), () => ({ ...START, operation: idOf(OPERATION, 'op-2') }));
    expect(await decided(fleet, again)).toMatchObject({
      prepared: 0,
      decision: { changes: [], answer: { operation: 'op-1' } },
    });
  });
});

/** The commit of a prepared start, with evacuators that record when they are called for a plan. */
function countingPlans(fleet: Fleet, command: StartScaleIn) {
  return async (calls: string[]): Promise<Decision<ScaleInAnswer>> => {
    let isCommit = false;
    const counted = EVACUATORS.map((one): Evacuator => ({
      ...one,
      plan: (...args) => {
        if (isCommit) calls.push(one.name);
        return one.plan(...args);
      },
      begin: (...args) => {
        if (isCommit) calls.push(`begin ${one.name}`);
        return one.begin(...args);
      },
    }));
    const next = await startInSlices(
      { ...prepareBetweenSlices(fleet), evacuators: counted },
      () => command,
    ).prepare?.();
    if (next === undefined || 'code' in next) throw new Error('it was not prepared');
    isCommit = true;
    return next.decide(fleet);
  };
}

describe('an end of many', () => {
  const down = { connection: { state: 'down' as const, sinceMs: 0 } };
  const draining = () =>
    fleetOf([...activeHosts(...staying), ...leaving.map((name) => hostIn(name, 'draining', down))]);
  const END = { ...REQUEST, disconnect: false };

  test('what-is-in-the-way-is-found-before-its-commit', async () => {
    const fleet = draining();
    const { decision, prepared } = await decided(
      fleet,
      endInSlices(prepareBetweenSlices(fleet), () => END),
    );
    expect(prepared).toBe(1);
    expect(decision).toMatchObject({ refusal: { code: 'blocked' } });
    const { hosts } = (decision.kind === 'refuse' ? decision.refusal.facts : {}) as { hosts: ScaleInAnswer['hosts'] };
    expect(hosts.map(({ blockers }) => blockers?.length)).toEqual(leaving.map(() => 4));
  });

  test('never: a host ends on evidence from before its commit', async () => {
    const fleet = draining();
    const empty = leaving.map((host) => hostIn(host, 'drained', down));
    const removed = leaving.flatMap((host) =>
      ['guest/a', 'guest/b', 'post/p', 'post/q'].map((of) => {
        const [kind, end] = of.split('/') as [string, string];
        return remove({ name: kind } as never, `${host}-${end}` as never);
      }),
    );
    commit(fleet, ...empty, ...removed);
    const next = await endInSlices(prepareBetweenSlices(fleet), () => END).prepare?.();
    if (next === undefined || 'code' in next) throw new Error('it was not prepared');
    commit(fleet, guests.put('late', { host: 'l07' }));
    const decision = next.decide(fleet);
    if (decision.kind === 'refuse') throw new Error(decision.refusal.message);
    const results = decision.answer.hosts.map(({ host, result }) => `${host} ${result}`);
    expect(results.filter((one) => !one.endsWith('accepted'))).toEqual(['l07 blocked']);
  });

  test('a-host-of-which-something-was-said-since-is-assessed-again', async () => {
    const fleet = draining();
    const next = await endInSlices(prepareBetweenSlices(fleet), () => END).prepare?.();
    if (next === undefined || 'code' in next) throw new Error('it was not prepared');
    commit(fleet, hostChange({ name: 'l07', state: 'active', credential: 't' }));
    const decision = next.decide(fleet);
    const { hosts } = (decision.kind === 'refuse' ? decision.refusal.facts : {}) as { hosts: ScaleInAnswer['hosts'] };
    expect(hosts.find(({ host }) => host === 'l07')).toMatchObject({ result: 'wrong-state' });
    expect(fleet.get(HOST, idOf(HOST, 'l07'))?.doc.state).toBe('active');
  });
});
