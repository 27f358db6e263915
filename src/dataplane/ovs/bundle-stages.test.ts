import { describe, expect, test } from 'vitest';
import { compile } from '../compile/compile.ts';
import { nat, view } from '../compile/dataplane-view-fixture.ts';
import { diff } from '../switch/diff.ts';
import { isMod, type Mod } from './openflow/mods.ts';
import type { ServiceView } from '../view/dataplane-view.ts';
import type { SwitchContents } from '../switch/switch.ts';
import { TABLE, RECIRCULATED_TABLES } from '../switch/tables.ts';
import { groupsIn } from '../switch/flow-syntax.ts';
import { stageBundles } from './bundle-stages.ts';

type Role = ServiceView['role'];
type Phase = NonNullable<ServiceView['handover']>['phase'];

const OF_OLD: readonly (readonly [Role, Phase?])[] = [
  ['designated'],
  ['designated', 'preparing'],
  ['retiring', 'switched'],
  ['retiring', 'retiring'],
  ['retiring', 'draining'],
  ['other'],
];
const OF_NEW: readonly (readonly [Role, Phase?])[] = [
  ['other'],
  ['preparing', 'preparing'],
  ['designated', 'switched'],
  ['designated', 'retiring'],
  ['designated', 'draining'],
  ['designated'],
];

function compiled([role, phase]: readonly [Role, Phase?]): SwitchContents {
  const service = nat({
    role,
    designated: { host: role === 'other' ? 'c2' : 'c1' },
    ...(phase !== undefined && { handover: { phase, operation: 'op', other: 'c2' } }),
  });
  return compile(view({ services: [service], bfd: { intervalMs: 100, peers: ['c2'] } })).contents;
}

const modsBetween = (before: SwitchContents, after: SwitchContents): readonly Mod[] =>
  diff(after, before).changes.filter(isMod);

/** The tables that flows send to what they have looked up. */
function leadsTo({ flows }: SwitchContents): Set<number> {
  return new Set(
    flows.flatMap(({ actions }) => [...actions.matchAll(/\bct\([^)]*table=(\d+)/g)].map(([, to]) => Number(to))),
  );
}

const STEPS = [OF_OLD, OF_NEW].flatMap((states) =>
  states.slice(1).map((after, nth) => ({ before: states[nth]!, after })),
);

test('what-is-looked-up-goes-on-in-these-tables-and-no-others', () => {
  const all = STEPS.flatMap(({ before, after }) => [...leadsTo(compiled(before)), ...leadsTo(compiled(after))]);
  expect(new Set(all)).toEqual(RECIRCULATED_TABLES);
});

describe.each(STEPS)('from $before to $after', ({ before, after }) => {
  const mods = modsBetween(compiled(before), compiled(after));

  test('never: a flow goes together with the one that led to it', () => {
    const [first = []] = stageBundles(mods);
    expect(first.filter((mod) => mod.kind === 'remove-flow' && RECIRCULATED_TABLES.has(mod.flow.table))).toEqual([]);
  });

  test('every-change-is-made-once-in-its-order', () => {
    const turns = stageBundles(mods);
    expect(turns.flat()).toHaveLength(mods.length);
    for (const turn of turns) expect(turn).toEqual(mods.filter((mod) => turn.includes(mod)));
  });

  test('never: a flow leads to a flow or a group that comes in a later turn', () => {
    const turns = stageBundles(mods);
    const turnOf = (is: (mod: Mod) => boolean): number => turns.findIndex((turn) => turn.some(is));
    for (const [nth, turn] of turns.entries())
      for (const mod of turn) {
        if (mod.kind !== 'put-flow') continue;
        for (const id of groupsIn(mod.flow.actions))
          expect(turnOf((one) => one.kind === 'put-group' && one.group.id === id)).toBeLessThanOrEqual(nth);
        if (!mod.flow.actions.includes('ct(')) continue;
        const isBehind = (one: Mod): boolean => one.kind === 'put-flow' && one.flow.table === TABLE.conntrack;
        if (!RECIRCULATED_TABLES.has(mod.flow.table)) expect(turnOf(isBehind)).toBeLessThan(nth);
      }
  });

  test('a-group-goes-after-the-flows-that-lead-to-it', () => {
    const turnOf = new Map(stageBundles(mods).flatMap((turn, nth) => turn.map((mod) => [mod, nth] as const)));
    for (const group of mods.filter(({ kind }) => kind === 'remove-group'))
      for (const flow of mods.filter(({ kind }) => kind === 'remove-flow'))
        expect(turnOf.get(flow)).toBeLessThanOrEqual(turnOf.get(group) ?? -1);
  });
});

test('both-ends-take-what-was-known-away-a-turn-later-when-the-old-one-turns', () => {
  for (const [before, after] of [
    [OF_OLD[3]!, OF_OLD[4]!],
    [OF_NEW[3]!, OF_NEW[4]!],
  ] as const) {
    const turns = stageBundles(modsBetween(compiled(before), compiled(after)));
    const tables = turns.map((turn) => turn.flatMap((mod) => (mod.kind === 'remove-flow' ? [mod.flow.table] : [])));
    expect(tables).toHaveLength(2);
    expect(tables[0]).not.toContain(TABLE.conntrack);
    expect(new Set(tables[1])).toEqual(new Set([TABLE.conntrack]));
  }
});

test('what-has-nothing-to-do-with-connections-goes-at-once', () => {
  const before = compiled(['other']);
  const mods = modsBetween(before, { ...before, flows: before.flows.filter(({ table }) => table !== TABLE.deliver) });
  expect(mods.length).toBeGreaterThan(0);
  expect(stageBundles(mods)).toEqual([mods]);
  expect(stageBundles([])).toEqual([]);
});
