import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { idOf, put, type FleetReader } from '../../fleet/index.ts';
import { OPERATION } from '../../operations/index.ts';
import { runInOneStep, runAllSteps, type Evacuator } from '../evacuator.ts';
import { HOST } from '../model.ts';
import { denyChangedPlan } from './plan-hash.ts';
import { evacuatorOf, fleetOf, sha256, type Tenancy } from './preview-fixture.ts';
import { planProblem, previewScaleIn, type ScaleInPreview } from './preview.ts';

const BUDGETS = { movesAtOnce: 4, movesPerHostAtOnce: 2 };

const MACHINES: Tenancy = {
  name: 'instances',
  kind: 'instance',
  on: { c1: ['web-1', 'web-2'], c2: ['db-1'], c3: ['web-3'] },
};
const SERVICES: Tenancy = {
  name: 'designations',
  kind: 'service',
  how: 'handover',
  leavesFirst: true,
  aboutMs: 3000,
  on: { c1: ['nat:edge'], c2: ['dhcp:lan'] },
};

const both = (machines: Partial<Tenancy> = {}, services: Partial<Tenancy> = {}): Evacuator[] => [
  evacuatorOf({ ...SERVICES, ...services }),
  evacuatorOf({ ...MACHINES, ...machines }),
];

function shown(fleet: FleetReader, hosts: readonly string[], evacuators = both()): ScaleInPreview {
  const preview = previewScaleIn(fleet, evacuators, { hosts, nowMs: 5, hash: sha256, budgets: BUDGETS });
  if ('code' in preview) throw new Error(preview.message);
  return preview;
}

function asText({ hosts }: ScaleInPreview): string[] {
  return hosts.flatMap(({ host, tenants }) =>
    tenants.map(({ tenant, evacuation }) => {
      const end = 'to' in evacuation ? `${evacuation.kind} to ${evacuation.to}` : evacuation.kind;
      return `${host} ${tenant.kind} ${tenant.id}: ${end}`;
    }),
  );
}

const plainFleet = () => fleetOf('c1', 'c2', 'c3', 'c4');

describe('what would become of what lives there', () => {
  test('hosts-that-leave-together-are-planned-together-and-never-through-each-other', () => {
    expect(asText(shown(plainFleet(), ['c1', 'c2']))).toMatchInlineSnapshot(`
      [
        "c1 service nat:edge: move to c3",
        "c1 instance web-1: move to c4",
        "c1 instance web-2: move to c3",
        "c2 service dhcp:lan: move to c4",
        "c2 instance db-1: move to c4",
      ]
    `);
  });

  test('loads-tell-who-gets-the-most-before-and-after', () => {
    expect(shown(plainFleet(), ['c1', 'c2']).loads).toMatchInlineSnapshot(`
      {
        "busiest": [
          {
            "after": {
              "designations": 1,
              "instances": 2,
            },
            "before": {
              "designations": 0,
              "instances": 0,
            },
            "host": "c4",
          },
          {
            "after": {
              "designations": 1,
              "instances": 2,
            },
            "before": {
              "designations": 0,
              "instances": 1,
            },
            "host": "c3",
          },
        ],
        "hosts": 2,
      }
    `);
  });

  test('loads-are-shown-of-20-hosts-at-most', () => {
    const names = Array.from({ length: 50 }, (_, at) => `h${at + 10}`);
    const evacuators = [evacuatorOf({ ...MACHINES, on: { c1: names.map((name) => `on-${name}`) } })];
    const { loads } = shown(fleetOf('c1', ...names), ['c1'], evacuators);
    expect([loads.busiest.length, loads.hosts]).toEqual([20, 50]);
  });

  test('what-has-no-place-to-go-is-shown-with-its-reason', () => {
    const reason = { code: 'no-valid-host', instance: 'web-2' };
    const { blocked } = shown(plainFleet(), ['c1'], both({ evacuations: { 'web-2': { kind: 'wait', reason } } }));
    expect(blocked).toEqual([
      { host: 'c1', tenant: { kind: 'instance', id: 'web-2' }, evacuation: { kind: 'wait', reason } },
    ]);
  });

  test('services-that-end-with-their-host-are-shown-without-a-target', () => {
    const { designations } = shown(
      plainFleet(),
      ['c1', 'c2'],
      both({}, { evacuations: { 'nat:edge': { kind: 'ends' } } }),
    );
    expect(designations).toEqual([
      { tenant: { kind: 'service', id: 'nat:edge' }, from: 'c1' },
      { tenant: { kind: 'service', id: 'dhcp:lan' }, from: 'c2', to: 'c3' },
    ]);
  });

  test('interruptions-are-counted-by-kind-and-way', () => {
    const evacuators = [
      ...both(
        { evacuations: { 'web-1': { kind: 'rebuild', to: 'c3' } } },
        { evacuations: { 'dhcp:lan': { kind: 'ends' } } },
      ),
    ];
    const rows = shown(plainFleet(), ['c1', 'c2'], evacuators).interruptions;
    expect(rows.map(({ kind, by, how, count, interruption }) => [kind, by, how, count, interruption])).toEqual([
      ['instance', 'move', 'live', 2, 'brief'],
      ['instance', 'rebuild', undefined, 1, 'restart'],
      ['service', 'ends', undefined, 1, 'ends'],
      ['service', 'move', 'handover', 1, 'none'],
    ]);
  });

  test('a-cold-move-is-a-restart', () => {
    const [row] = shown(plainFleet(), ['c1'], [evacuatorOf({ ...MACHINES, how: 'cold' })]).interruptions;
    expect(row).toMatchObject({ how: 'cold', interruption: 'restart' });
  });

  test('an-empty-host-has-an-empty-plan', () => {
    const preview = shown(plainFleet(), ['c4']);
    expect(preview).toMatchObject({
      blocked: [],
      designations: [],
      interruptions: [],
      loads: { busiest: [], hosts: 0 },
    });
    expect(preview.estimate).toMatchObject({ durationMs: 0, moves: 0, assuming: [] });
  });
});

describe('how long it should take', () => {
  const many = (count: number): string[] => Array.from({ length: count }, (_, at) => `i${at}`);
  const on = (...counts: readonly number[]): Tenancy['on'] =>
    Object.fromEntries(counts.map((count, at) => [`c${at + 1}`, many(count)]));

  test.each([
    ['one-move', on(1), 1],
    ['the-budget-per-host-keeps-a-full-host', on(8), 4],
    ['the-budget-of-all-keeps-many-hosts', on(3, 3, 3, 3, 3), 4],
    ['a-round-that-is-not-full-counts-whole', on(3, 0), 2],
  ])('%s', (_name, living, rounds) => {
    const fleet = fleetOf('c1', 'c2', 'c3', 'c4', 'c5', 'c9');
    const { estimate } = shown(fleet, Object.keys(living), [evacuatorOf({ ...MACHINES, on: living, aboutMs: 1000 })]);
    expect(estimate.durationMs).toBe(rounds * 1000);
  });

  test('services-go-first-and-what-it-assumes-is-reported', () => {
    expect(shown(plainFleet(), ['c1', 'c2']).estimate).toEqual({
      durationMs: 3000 + 20_000,
      moves: 5,
      drains: 0,
      assuming: [
        { kind: 'designations', moves: 2, eachMs: 3000 },
        { kind: 'instances', moves: 3, eachMs: 20_000 },
      ],
      budgets: BUDGETS,
    });
  });
});

describe('tenants that are drained where they are', () => {
  const drained = { 'web-1': { kind: 'drain' }, 'web-2': { kind: 'drain' } } as const;
  const planned = (): ScaleInPreview => shown(plainFleet(), ['c1', 'c2'], both({ evacuations: drained }));

  test('have-no-target, load no host and are not blocked', () => {
    const { blocked, loads, estimate, interruptions } = planned();
    expect(blocked).toEqual([]);
    const taken = loads.busiest.reduce((sum, { before, after }) => {
      return sum + (after['instances'] ?? 0) - (before['instances'] ?? 0);
    }, 0);
    expect(taken).toBe(estimate.moves - 2);
    expect(interruptions).toContainEqual({ kind: 'instance', by: 'drain', count: 2, interruption: 'restart' });
  });

  test('are-estimated-one-after-the-other, beside what moves', () => {
    const { estimate } = planned();
    expect(estimate.drains).toBe(2);
    expect(estimate.assuming).toContainEqual({ kind: 'instances', moves: 1, drains: 2, eachMs: 20_000 });
    expect(estimate.durationMs).toBe(3000 + 20_000 + 2 * 20_000);
  });

  test('bind-a-start-to-the-plan-like-any-other: one that is held by now differs', () => {
    const held = { ...drained, 'web-1': { kind: 'wait', reason: { code: 'held' } } } as const;
    const request = { hosts: ['c1', 'c2'], plan: planned().planHash, nowMs: 9, hash: sha256 };
    expect(planProblem(plainFleet(), both({ evacuations: drained }), request)).toBeUndefined();
    expect(planProblem(plainFleet(), both({ evacuations: held }), request)?.facts).toMatchObject({
      differs: ['blocked'],
    });
  });
});

describe('what moves took', () => {
  test('replaces-the-assumption, and the number of moves is reported', () => {
    const fleet = plainFleet();
    const moves = [9000, 8000, 7000].map((ms, nth) => {
      const counts = { pending: 0, running: 0, waiting: 0, done: 2, failed: 0, cancelled: 0 };
      const facts = { title: 'move', by: 'test', createdAtMs: 0, deadlineMs: 10, deadlineAtMs: 10 };
      const doc = { kind: 'move', state: 'succeeded' as const, ...facts, finishedAtMs: ms, counts };
      return put(OPERATION, idOf(OPERATION, `op-${nth}`), doc);
    });
    fleet.apply(2, moves);
    const { estimate } = shown(fleet, ['c1', 'c2'], both({ movedBy: ['move'] }));
    const [services, machines] = estimate.assuming;
    expect(services).toEqual({ kind: 'designations', moves: 2, eachMs: 3000 });
    expect(machines).toEqual({
      kind: 'instances',
      moves: 3,
      eachMs: expect.closeTo(8000, -3) as number,
      measuredOver: 6,
    });
    expect(estimate.durationMs).toBe(3000 + (machines?.eachMs ?? 0));
  });
});

describe('a preview', () => {
  test('writes-nothing', () => {
    const fleet = plainFleet();
    const before = [...fleet.all(HOST)];
    shown(fleet, ['c1', 'c2']);
    expect(fleet.revision).toBe(1);
    expect([...fleet.all(HOST)]).toEqual(before);
  });

  test('does-not-depend-on-the-order-or-the-form-of-names', () => {
    const identity = { datapathId: 'fffffffffffffffe', systemId: 'sys-1' };
    const fleet = fleetOf({ name: 'c1', switch: identity }, 'c2', 'c3', 'c4');
    const expected = shown(fleet, ['c1', 'c2', 'c3']);
    const forms = ['c1', 'sys-1', 'openflow:18446744073709551614', 'fffffffffffffffe'];
    fc.assert(
      fc.property(
        fc.subarray(forms, { minLength: 1 }),
        fc.array(fc.nat(), { minLength: 7, maxLength: 7 }),
        (chosen, order) => {
          const names = [...chosen, 'c2', 'c3', 'c2'].map((name, nth) => ({ name, at: order[nth] ?? 0 }));
          const shuffled = names.sort((one, other) => one.at - other.at).map(({ name }) => name);
          expect(shown(fleet, shuffled)).toEqual(expected);
        },
      ),
    );
  });

  test.each([
    ['unknown-names-are-all-told', ['c1', 'x', 'y'], 'unknown-host', 'x: unknown, y: unknown'],
    [
      'wrong-states-are-all-told',
      ['gone', 'new', 'last'],
      'wrong-state',
      'gone: in the wrong state (re-admit-first), last: in the wrong state (past-return), new: in the wrong state (still-joining)',
    ],
    [
      'unknown-comes-first-and-both-are-shown',
      ['x', 'gone'],
      'unknown-host',
      'gone: in the wrong state (re-admit-first), x: unknown',
    ],
  ])('%s', (_name, hosts, code, text) => {
    const fleet = fleetOf(
      'c1',
      { name: 'gone', state: 'removed' },
      { name: 'new', state: 'joining' },
      { name: 'last', state: 'finalizing' },
    );
    const refusal = previewScaleIn(fleet, both(), { hosts, nowMs: 5, hash: sha256, budgets: BUDGETS });
    expect(refusal).toMatchObject({
      code,
      message: `These hosts cannot be taken out of service: ${text}. Nothing was changed. The sentence of each says what to do.`,
    });
  });

  test('hosts-of-other-sites-are-unknown-to-a-site', () => {
    const fleet = fleetOf({ name: 'c1', site: 'edge' });
    const how = { hosts: ['c1'], site: 'central', nowMs: 5, hash: sha256, budgets: BUDGETS };
    expect(previewScaleIn(fleet, [], how)).toMatchObject({ kind: 'not-found', code: 'unknown-host' });
  });

  test.each(['draining', 'drained', 'recovering'] as const)('shows-what-is-left-on-a-host-that-is-%s', (state) => {
    const leaving = { operation: 'op-1', drain: true, by: 'ann', atMs: 0 };
    const preview = shown(fleetOf({ name: 'c1', state, leaving }, 'c3'), ['c1']);
    expect(preview.hosts).toMatchObject([{ host: 'c1', state, tenants: [{}, {}, {}] }]);
  });
});

describe('the plan that a start is bound to', () => {
  const hashWith = (evacuators: Evacuator[], fleet = plainFleet(), hosts = ['c1', 'c2']): string =>
    shown(fleet, hosts, evacuators).planHash;
  const seen = hashWith(both());
  const goTo = (to: string) => ({ kind: 'move', how: 'live', to }) as const;
  const waits = (code: string) => ({ kind: 'wait', reason: { code, atMs: 7 } }) as const;

  test.each([
    ['the-same-again', () => hashWith(both()), []],
    ['another-load-elsewhere', () => hashWith(both({ on: { ...MACHINES.on, c4: ['a', 'b', 'c'] } })), []],
    ['another-target-of-an-instance', () => hashWith(both({ evacuations: { 'web-1': goTo('c3') } })), []],
    ['another-host-named', () => hashWith(both(), plainFleet(), ['c1', 'c2', 'c4']), ['hosts', 'designations']],
    ['an-instance-more', () => hashWith(both({ on: { ...MACHINES.on, c1: ['web-1', 'web-2', 'x'] } })), ['tenants']],
    [
      'an-instance-on-another-of-them',
      () => hashWith(both({ on: { c1: ['web-1'], c2: ['web-2', 'db-1'] } })),
      ['tenants'],
    ],
    ['an-instance-that-is-drained-instead', () => hashWith(both({ evacuations: { 'web-1': { kind: 'drain' } } })), []],
    ['an-instance-that-is-blocked-now', () => hashWith(both({ evacuations: { 'web-1': waits('x') } })), ['blocked']],
    [
      'another-target-of-a-service',
      () => hashWith(both({}, { evacuations: { 'nat:edge': goTo('c4'), 'dhcp:lan': goTo('c4') } })),
      ['designations'],
    ],
    [
      'a-service-that-ends',
      () => hashWith(both({}, { evacuations: { 'dhcp:lan': { kind: 'ends' } } })),
      ['designations'],
    ],
  ])('%s', (_name, now, differs) => {
    expect(denyChangedPlan(seen, now())?.facts?.['differs'] ?? []).toEqual(differs);
  });

  test('the-order-in-which-an-evacuator-answers-does-not-count', () => {
    const turned = both().map((one): Evacuator => ({
      ...one,
      plan: (...args) => runInOneStep(runAllSteps(one.plan(...args)).toReversed()),
    }));
    expect(hashWith(turned)).toBe(seen);
  });

  test('a-reason-that-tells-of-times-and-counts-is-the-same-reason', () => {
    const at = (atMs: number) =>
      hashWith(both({ evacuations: { 'web-1': { kind: 'wait', reason: { code: 'x', atMs } } } }));
    expect(at(1)).toBe(at(2));
    expect(at(1)).not.toBe(hashWith(both({ evacuations: { 'web-1': waits('y') } })));
  });

  test('a-start-that-finds-another-plan-says-what-differs', () => {
    const evacuators = both({ on: { c1: [] }, evacuations: {} }, { evacuations: { 'nat:edge': { kind: 'ends' } } });
    const request = { hosts: ['c1', 'c2'], plan: seen, nowMs: 9, hash: sha256 };
    expect(planProblem(plainFleet(), both(), request)).toBeUndefined();
    expect(planProblem(plainFleet(), evacuators, request)).toMatchObject({
      kind: 'conflict',
      code: 'plan-changed',
      message:
        'The plan is another one now: what lives on them, where services go. Nothing was changed. Run the preview again, and start with the plan that it shows.',
      facts: { differs: ['tenants', 'designations'], plan: hashWith(evacuators) },
    });
  });

  test('a-word-that-is-no-plan-is-refused-as-such', () => {
    expect(planProblem(plainFleet(), both(), { hosts: ['c1'], plan: 'yes', nowMs: 9, hash: sha256 })).toMatchObject({
      kind: 'invalid',
      code: 'not-a-plan',
    });
  });

  test('the-bad-names-of-a-pinned-start-are-listed-first', () => {
    const request = { hosts: ['c9'], plan: seen, nowMs: 9, hash: sha256 };
    expect(planProblem(plainFleet(), both(), request)).toMatchObject({ code: 'unknown-host' });
  });
});
