// Merging of trouble reports: what makes a host degraded, what ends it, and how few commits a flapping host causes.
import { describe, expect, test } from 'vitest';
import { accessModel } from '../access/index.ts';
import { ALARM, alarmsModel } from '../alarms/index.ts';
import { Fleet, idOf, put, Registry } from '../fleet/index.ts';
import { host as plainHost } from '../network/network-fixture.ts';
import { operationsModel } from '../operations/index.ts';
import { SITE, sitesModel } from '../sites/index.ts';
import {
  CONDITIONS,
  findExclusion,
  assessCondition,
  NEVER_BAD,
  troubleKey,
  type Condition,
  type Degraded,
} from './conditions.ts';
import { findHost } from './decide.ts';
import { hostsModel } from './fleet-model.ts';
import { HOST, type Host } from './model.ts';
import { conditionSentences, recordConditions } from './record-conditions.ts';

const settings = CONDITIONS.defaultValue;
const CUT: Condition = { type: 'switch', code: 'unreachable', message: 'no answer from its database socket' };
const CLEARED: Condition = {
  type: 'switch',
  code: 'not-running',
  message: 'ovs-vswitchd is not running',
  cannotServe: true,
};

/**
 * Plays one report every five seconds and lists the changes of the recorded condition. `x` is a failure, `.` is none. The first
 * `uncommitted` requests to record it are not committed.
 */
function play(
  reports: string,
  of: Readonly<Record<string, Condition>> = { x: CUT, g: CLEARED },
  uncommitted = 0,
): string[] {
  let recorded: Degraded | undefined;
  let memory = NEVER_BAD;
  const conditions: string[] = [];
  let lost = 0;
  for (const [at, mark] of reports.split('').entries()) {
    const nowMs = 1_000_000 + at * 5000;
    const condition = of[mark];
    const reported = condition === undefined ? [] : [condition];
    const verdict = assessCondition(
      { recorded: troubleKey(recorded ?? []), reported: troubleKey(reported), memory },
      nowMs,
      settings,
    );
    ({ memory } = verdict);
    if (verdict.verdict !== 'record') continue;
    if (lost < uncommitted) {
      lost += 1;
      continue;
    }
    recorded = condition === undefined ? undefined : [{ ...condition, sinceMs: nowMs }];
    conditions.push(`${at * 5} s ${condition?.code ?? 'well'}`);
  }
  return conditions;
}

describe('a reported failure', () => {
  test.each<readonly [name: string, reports: string, expected: readonly string[]]>([
    ['makes-the-host-degraded-when-it-lasts', 'xxxxx', ['10 s unreachable']],
    ['is-nothing-when-it-is-short', 'x....x....', []],
    ['ends-when-it-has-been-over-for-a-while', 'xxx....', ['10 s unreachable', '25 s well']],
    ['does-not-end-by-one-good-report', 'xxx.xx.xx', ['10 s unreachable']],
    ['counts-also-when-it-comes-and-goes', 'x.x.x.x', ['10 s unreachable']],
    ['of-another-cause-is-recorded-after-a-while', 'xxxxggg', ['10 s unreachable', '20 s not-running']],
  ])('%s', (_name, reports, expected) => {
    expect(play(reports)).toEqual(expected);
  });

  test('that-flaps-for-an-hour-costs-a-few-commits', () => {
    // Bad for 20 s, then well for 20 s: without a growing delay each change would cost two or more commits a minute.
    const conditions = play('xxxx....'.repeat(90));
    expect(conditions.length).toBeGreaterThan(1);
    expect(conditions.length).toBeLessThan(20);
  });

  test('that-later-includes-the-data-path-is-recorded-again: services depend on it', () => {
    const conditions = play('xxxxsss', { x: CUT, s: { ...CUT, cannotServe: true } });
    expect(conditions).toEqual(['10 s unreachable', '20 s unreachable']);
  });

  test('that-flapped-ends-as-soon-as-any-other-once-it-was-quiet-for-ten-minutes', () => {
    const flapping = 'xxxx....'.repeat(20);
    const [first, last] = play(`${flapping}${'.'.repeat(200)}xxx....`).slice(-2);
    const beganS = (flapping.length + 200) * 5;
    expect([first, last]).toEqual([`${beganS + 10} s unreachable`, `${beganS + 25} s well`]);
    // Without the long quiet before it, the host has to be well for longer than that.
    expect(play(`${flapping}xxx....`).at(-1)).not.toContain('well');
  });

  test('whose-commit-takes-several-reports-counts-as-one-loss: it ends as soon as any other', () => {
    expect(play('xxxxxx....', undefined, 3)).toEqual(['25 s unreachable', '40 s well']);
  });

  test('whose-cause-flaps-costs-a-few-commits', () => {
    expect(play(`xxx${'gx'.repeat(360)}`).length).toBeLessThan(20);
  });
});

function fleetOf(facts: Partial<Host> = {}): Fleet {
  const fleet = new Fleet(new Registry([accessModel, operationsModel, alarmsModel, sitesModel, hostsModel]));
  const site = put(SITE, idOf(SITE, 'central'), { name: 'central', changedBy: 'test', changedAtMs: 0 });
  const doc = { ...(plainHost('c1').doc as Host), ...facts };
  fleet.apply(1, [site, put(HOST, idOf(HOST, 'c1'), doc)]);
  return fleet;
}

function record(fleet: Fleet, conditions: readonly Condition[], nowMs: number): number {
  const decision = recordConditions(fleet, { host: 'c1', conditions, nowMs });
  if (decision.kind === 'refuse') throw new Error(decision.refusal.code);
  if (decision.changes.length > 0) fleet.apply(fleet.revision + 1, decision.changes);
  return decision.changes.length;
}

const alarms = (fleet: Fleet): string[] =>
  [...fleet.all(ALARM)].map(({ doc }) => conditionSentences[doc.reason.code]!(doc.reason, () => ''));

describe('a host that is degraded', () => {
  test('has-an-alarm-that-says-what-to-do-until-it-is-not', () => {
    const fleet = fleetOf();
    expect(record(fleet, [CUT], 5)).toBe(2);
    expect(findHost(fleet, 'c1')?.doc.degraded).toEqual([{ ...CUT, sinceMs: 5 }]);
    expect(alarms(fleet)).toMatchInlineSnapshot(`
      [
        "Host c1 is degraded: its switch is out of control: no answer from its database socket. It gets no new services and instances; services that it has stay while its peers see its BFD up. On c1, see that ovsdb-server and ovs-vswitchd run and answer on their sockets ("ovs-vsctl show", "ovs-appctl version"). This ends by itself once no failure is reported for a few seconds.",
      ]
    `);
    expect(record(fleet, [{ ...CUT, message: 'another socket' }], 6)).toBe(0);
    expect(record(fleet, [], 7)).toBe(2);
    expect(findHost(fleet, 'c1')?.doc.degraded).toBeUndefined();
    expect(alarms(fleet)).toEqual([]);
  });

  test('is-so-since-the-first-trouble-and-its-alarm-tells-the-last', () => {
    const fleet = fleetOf();
    record(fleet, [CUT], 5);
    record(fleet, [CLEARED], 9);
    expect(findHost(fleet, 'c1')?.doc.degraded).toEqual([{ ...CLEARED, sinceMs: 5 }]);
    expect(alarms(fleet)[0]).toContain('forwards nothing: ovs-vswitchd is not running');
  });

  test('is-an-alarm-at-night-when-its-switch-is-out-of-control, and-one-for-the-morning-when-only-its-runtime-fails', () => {
    const fleet = fleetOf();
    const severities = (): string[] => [...fleet.all(ALARM)].map(({ doc }) => doc.severity);
    record(fleet, [{ type: 'instance-runtime', code: 'failing', message: 'no answer' }], 5);
    expect(severities()).toEqual(['warning']);
    record(fleet, [CUT], 6);
    expect(severities()).toEqual(['critical']);
  });

  test.each<Partial<Host>>([{ state: 'removed' }, { state: 'joining' }])(
    'is-none-that-is-not-in-service: %j',
    (facts) => {
      expect(record(fleetOf(facts), [CUT], 5)).toBe(0);
    },
  );
});

test('a-condition-of-a-type-that-a-later-version-has-recorded-keeps-nothing-away', () => {
  const degraded = [{ type: 'disk', code: 'worn', message: 'x', sinceMs: 1 }] as unknown as Degraded;
  expect([findExclusion({ degraded }, 'services'), findExclusion({ degraded }, 'instances')]).toEqual([
    undefined,
    undefined,
  ]);
});
