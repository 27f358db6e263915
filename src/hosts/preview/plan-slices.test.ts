// Plans made in slices: other deciders run in between, and a plan is made again when hosts come or leave.
import { describe, expect, test } from 'vitest';
import type { RouteContext as RouteWorld } from '../../access/index.ts';
import { Fleet, Registry, type Change, type Forkable, type Projection, type Steps } from '../../fleet/index.ts';
import { runAllSteps } from '../evacuator.ts';
import { hostsModel } from '../fleet-model.ts';
import { HOST } from '../model.ts';
import { planInSlices, type Slices } from './plan-slices.ts';
import { evacuatorOf, fleetOf, hostChange, sha256 } from './preview-fixture.ts';
import { previewScaleIn, planPreviewInSteps } from './preview.ts';

type Submit = RouteWorld['submit'];

/** A decider with a queue of decisions that others make between two slices. The clock advances by 1 ms each time that it is read. */
function worldOf(fleet: Fleet, between: (slice: number) => void = () => undefined) {
  let [slices, nowMs] = [0, 0];
  const submit = (async (_authority, { decide }) => {
    slices += 1;
    const decision = decide(fleet);
    await Promise.resolve();
    between(slices);
    return decision.kind === 'accept'
      ? { kind: 'accepted', revision: fleet.revision, answer: decision.answer }
      : { kind: 'refused', revision: fleet.revision, refusal: decision.refusal };
  }) as Submit;
  const clock = { nowMs: () => (nowMs += 1), turn: () => Promise.resolve() };
  return { world: { submit, clock } as unknown as RouteWorld, taken: () => slices };
}

const AUTHORITY = {} as never;
const BUDGETS = { movesAtOnce: 32, movesPerHostAtOnce: 4 };
const requested = { hosts: ['c1', 'c2'], nowMs: 1, hash: sha256, budgets: BUDGETS };

function* counting(slices: Slices, upTo: number): Steps<number> {
  for (let at = 0; at < upTo; at += 1) yield;
  return slices.fleet.revision;
}

/** Counts changes of hosts; a fork is outdated after the next one. */
class Layout implements Forkable {
  seen = 0;
  #origin: Layout | undefined;

  apply(): void {
    this.seen += 1;
  }

  fork(): Layout {
    const fork = new Layout();
    fork.seen = this.seen;
    fork.#origin = this;
    return fork;
  }

  get isOutdated(): boolean {
    return this.#origin !== undefined && this.#origin.seen !== this.seen;
  }
}

const LAYOUT: Projection<Layout> = { name: 'layout', kinds: [HOST.name], create: () => new Layout() };

function laidOutFleet(name: string): Fleet {
  const fleet = new Fleet(new Registry([hostsModel, { kinds: [], projections: [LAYOUT] }]));
  fleet.apply(1, [hostChange({ name })]);
  return fleet;
}

const commit = (fleet: Fleet, ...changes: Change[]): unknown => fleet.apply(fleet.revision + 1, changes);

describe('a plan in slices', () => {
  test('others-decide-in-between: each slice sees what was decided before it', async () => {
    const fleet = fleetOf('c1');
    const { world, taken } = worldOf(fleet, () => commit(fleet, hostChange({ name: 'c1', zone: 'z' })));
    const before = fleet.revision;
    const made = await planInSlices(world, AUTHORITY, (slices) => counting(slices, 100));
    expect(taken()).toBeGreaterThan(10);
    expect(made).toEqual({
      plan: before + taken() - 1,
      revisions: { first: before, last: before + taken() - 1 },
    });
  });

  test('is-the-same-as-in-one-go', async () => {
    const fleet = fleetOf('c1', 'c2', 'c3');
    const evacuators = [
      evacuatorOf({ name: 'instances', kind: 'instance', on: { c1: ['a', 'b'], c2: ['c'] }, evacuations: {} }),
    ];
    const { world, taken } = worldOf(fleet);
    const made = await planInSlices(world, AUTHORITY, (slices) => planPreviewInSteps(slices, evacuators, requested));
    expect(taken()).toBeGreaterThan(1);
    expect('plan' in made && made.plan).toEqual(previewScaleIn(fleet, evacuators, requested));
  });

  test('a-slice-that-is-decided-once-more-goes-on-where-it-was', async () => {
    const { world } = worldOf(fleetOf('c1'));
    const twice: Submit = (authority, request) =>
      world.submit(authority, { ...request, decide: (fleet) => [request.decide(fleet), request.decide(fleet)][1]! });
    const made = await planInSlices({ ...world, submit: twice }, AUTHORITY, (slices) => counting(slices, 20));
    expect('plan' in made && made.plan).toBe(1);
  });

  function* onTrial(slices: Slices): Steps<number> {
    const { seen } = slices.newTrial([HOST.name]).projection(LAYOUT);
    for (let at = 0; at < 20; at += 1) yield;
    return seen;
  }

  test('begins-anew-when-what-it-rests-on-is-another', async () => {
    const fleet = laidOutFleet('c1');
    const { world } = worldOf(fleet, (slice) => {
      if (slice === 2) commit(fleet, hostChange({ name: 'c9' }));
    });
    const made = await planInSlices(world, AUTHORITY, onTrial);
    expect(made).toMatchObject({ plan: 2, revisions: { first: fleet.revision } });
  });

  test('fails-in-a-fleet-that-does-not-settle, with a sentence', async () => {
    const fleet = laidOutFleet('c1');
    const { world } = worldOf(fleet, (slice) => commit(fleet, hostChange({ name: `n${slice}` })));
    const made = await planInSlices(world, AUTHORITY, onTrial);
    expect(made).toMatchObject({ code: 'fleet-unsettled', kind: 'conflict' });
  });

  test('a-refusal-of-the-decider-is-the-answer', async () => {
    const refusal = { kind: 'forbidden', code: 'token-ended', message: 'x' } as const;
    const submit = (() => Promise.resolve({ kind: 'refused', revision: 1, refusal })) as unknown as Submit;
    const { world } = worldOf(fleetOf());
    expect(await planInSlices({ ...world, submit }, AUTHORITY, (slices) => counting(slices, 1))).toEqual(refusal);
    expect(runAllSteps(counting({ fleet: fleetOf() } as unknown as Slices, 3))).toBe(1);
  });
});
