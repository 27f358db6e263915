import { expect, test } from 'vitest';
import { ManualClock } from '../../network/back-ends/clock-fixture.ts';
import { compile } from '../compile/compile.ts';
import { nat, view } from '../compile/dataplane-view-fixture.ts';
import { diff } from '../switch/diff.ts';
import { isMod, type Mod } from './openflow/mods.ts';
import type { ServiceView } from '../view/dataplane-view.ts';
import type { SwitchChange, SwitchContents } from '../switch/switch.ts';
import { TABLE, RECIRCULATED_TABLES } from '../switch/tables.ts';
import { applyFlowChanges } from './flow-changes-driver.ts';

const EMPTY: SwitchContents = { flows: [], groups: [], tunnels: [], externalIds: {} };

function at(role: ServiceView['role'], phase?: NonNullable<ServiceView['handover']>['phase']): SwitchContents {
  const handover = phase === undefined ? {} : { handover: { phase, operation: 'op', other: 'c2' } };
  return compile(view({ services: [nat({ role, designated: { host: 'c1' }, ...handover })] })).contents;
}

interface Made {
  /** In their order: what was written, and the words `wait` and `end`. */
  readonly log: readonly (readonly Mod[] | 'wait' | 'end')[];
  readonly bundles: readonly (readonly Mod[])[];
}

async function made(before: SwitchContents, changes: readonly SwitchChange[]): Promise<Made> {
  const log: (readonly Mod[] | 'wait' | 'end')[] = [];
  const clock = new ManualClock();
  const done = applyFlowChanges(changes, {
    before,
    clock,
    bundle: async (mods) => void log.push(mods),
    waitForRevalidators: async () => void log.push('wait'),
    finish: async () => void log.push('end'),
  });
  await Promise.all([done, clock.advance(5000)]);
  return { log, bundles: log.filter((one) => typeof one !== 'string') };
}

const changesTo = (wanted: SwitchContents, found: SwitchContents): readonly SwitchChange[] =>
  diff(wanted, found).changes;

test('the-old-end-turns: what-was-known-goes-when-nothing-leads-to-it-any-more', async () => {
  const found = at('retiring', 'resyncing');
  const changes = changesTo(at('retiring', 'draining'), found);
  const { log, bundles } = await made(found, changes);
  const goes = (mods: readonly Mod[] | string): boolean =>
    typeof mods !== 'string' &&
    mods.some((mod) => mod.kind === 'remove-flow' && RECIRCULATED_TABLES.has(mod.flow.table));
  const last = log.findIndex(goes);
  expect(log.slice(0, last)).toContain('wait');
  expect(log.slice(last)).toContain('wait');
  expect(bundles.flat()).toEqual(expect.arrayContaining(changes.filter(isMod)));
});

test('never: a flow is written before its turn to see what is in force', async () => {
  const flow = (table: number, priority: number, actions: string): Mod => ({
    kind: 'put-flow',
    flow: { table, priority, match: '', actions, cookie: '4d55000000000001' },
  });
  const behind = flow(TABLE.conntrack, 10, 'resubmit(,35)');
  // Alone, the one that drops would drop what the other sends on.
  const together = [flow(TABLE.classify, 5, 'drop'), flow(TABLE.classify, 10, `ct(table=${TABLE.conntrack},zone=1)`)];
  const { log } = await made(EMPTY, [...together, behind]);
  expect(log.slice(0, 3)).toEqual([[behind], 'wait', together]);
});

test('a-switch-that-is-left-with-nothing-is-changed-in-one-go', async () => {
  const found = at('designated');
  const changes = changesTo({ ...EMPTY }, found);
  const { log } = await made(found, changes);
  expect(log).toEqual([changes.filter(isMod), 'end', 'wait']);
});

test('where-no-flow-changes-nothing-is-waited-for', async () => {
  const changes: readonly SwitchChange[] = [{ kind: 'set-external-id', key: 'muster', value: 'c1' }];
  expect((await made(at('other'), changes)).log).toEqual(['end']);
});
