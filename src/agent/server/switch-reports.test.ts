import { describe, expect, test } from 'vitest';
import { accessModel } from '../../access/index.ts';
import { ALARM, alarmsModel } from '../../alarms/index.ts';
import { Fleet, idOf, put, Registry, type Change } from '../../fleet/index.ts';
import {
  endRemovedReports,
  findHost,
  HOST,
  hostsModel,
  removedReportSentences,
  type Host,
  type SwitchIdentity,
} from '../../hosts/index.ts';
import { host as plainHost } from '../../network/network-fixture.ts';
import { operationsModel } from '../../operations/index.ts';
import { SITE, sitesModel } from '../../sites/index.ts';
import { agentSentences } from './sentences.ts';
import { recordRemovedHostReport, recordSwitch } from './switch-reports.ts';

const ONE: SwitchIdentity = { datapathId: '00000000000000a1', systemId: 'sys-1', bridge: 'b-1' };
const TWO: SwitchIdentity = { datapathId: '00000000000000a2', systemId: 'sys-2', bridge: 'b-2' };

function host(name: string, facts: Partial<Host> = {}): Change {
  return put(HOST, idOf(HOST, name), { ...(plainHost(name).doc as Host), ...facts });
}

function fleetOf(...changes: readonly Change[]): Fleet {
  const fleet = new Fleet(new Registry([accessModel, operationsModel, alarmsModel, sitesModel, hostsModel]));
  const site = put(SITE, idOf(SITE, 'central'), { name: 'central', changedBy: 'test', changedAtMs: 0 });
  fleet.apply(1, [site, ...changes]);
  return fleet;
}

function reportSwitch(fleet: Fleet, name: string, identity: SwitchIdentity): number {
  const decision = recordSwitch(fleet, { host: name, identity, by: `agent/${name}`, nowMs: 5 });
  if (decision.kind === 'refuse') throw new Error(decision.refusal.code);
  if (decision.changes.length > 0) fleet.apply(fleet.revision + 1, decision.changes);
  return decision.changes.length;
}

const alarms = (fleet: Fleet): string[] =>
  [...fleet.all(ALARM)].map(({ doc }) => SENTENCES[doc.reason.code]!(doc.reason, () => ''));
const SENTENCES = { ...agentSentences, ...removedReportSentences };

describe('what an agent reports its switch', () => {
  test('is-written-down-once-and-again-when-it-changes', () => {
    const fleet = fleetOf(host('c1'));
    expect(reportSwitch(fleet, 'c1', ONE)).toBe(1);
    expect(findHost(fleet, 'c1')?.doc).toMatchObject({ switch: ONE, changedBy: 'agent/c1' });
    expect(reportSwitch(fleet, 'c1', ONE)).toBe(0);
    expect(reportSwitch(fleet, 'c1', TWO)).toBe(1);
    expect(findHost(fleet, 'c1')?.doc.switch).toEqual(TWO);
  });

  test('of-a-host-of-another-site-is-not-named-by-the-alarm', () => {
    const fleet = fleetOf(host('c1'), host('c2', { site: 'north' }));
    reportSwitch(fleet, 'c1', ONE);
    reportSwitch(fleet, 'c2', ONE);
    const [alarm] = [...fleet.all(ALARM)];
    expect(alarm?.doc).toMatchObject({ site: 'north', reason: { code: 'switch-identity-shared', host: 'c2' } });
    expect(JSON.stringify(alarm?.doc)).not.toContain('c1');
    expect(alarms(fleet)[0]).toContain('has the identity of the switch of a host of another site.');
    // A caller that sees both sites reads it in the host itself.
    expect(findHost(fleet, 'c2')?.doc.quarantined).toMatchObject({ because: 'identity', as: 'c1' });
  });

  test.each<readonly [string, SwitchIdentity]>([
    ['all-of-it', ONE],
    ['its-datapath-id', { ...TWO, datapathId: ONE.datapathId as string }],
    ['its-system-id', { ...TWO, systemId: 'sys-1' }],
    ['its-bridge', { ...TWO, bridge: 'b-1' }],
  ])('of-another-host-is-not-trusted: %s', (_name, identity) => {
    const fleet = fleetOf(host('c1', { switch: ONE }), host('c2'));
    reportSwitch(fleet, 'c2', identity);
    expect(findHost(fleet, 'c2')?.doc.quarantined).toEqual({ because: 'identity', as: 'c1', atMs: 5 });
    expect(alarms(fleet)).toMatchInlineSnapshot(`
      [
        "The switch of host c2 has the identity of host c1's. The host is in quarantine: give its switch an identity of its own, then trust it again with "muster hosts re-admit c2 --reason <why>".",
      ]
    `);
    // The one who had it first is not blamed for it.
    reportSwitch(fleet, 'c1', ONE);
    expect(findHost(fleet, 'c1')?.doc.quarantined).toBeUndefined();
    expect(reportSwitch(fleet, 'c2', identity)).toBe(0);
  });

  test('a-system-id-that-is-another-hosts-name-is-no-identity', () => {
    const fleet = fleetOf(host('c1', { switch: ONE }), host('c2'));
    reportSwitch(fleet, 'c2', { ...TWO, systemId: 'c1' });
    expect(findHost(fleet, 'c2')?.doc.quarantined).toBeUndefined();
  });

  test('that-others-show-who-are-not-trusted-keeps-its-own-host-trusted', () => {
    const fleet = fleetOf(host('z1', { switch: ONE }), host('b1'), host('c1'));
    reportSwitch(fleet, 'b1', ONE);
    reportSwitch(fleet, 'c1', ONE);
    const distrusted = ['b1', 'c1'].map((name) => findHost(fleet, name)?.doc.quarantined);
    expect(distrusted).toMatchObject([
      { because: 'identity', as: 'z1' },
      { because: 'identity', as: 'z1' },
    ]);
    reportSwitch(fleet, 'z1', ONE);
    expect(findHost(fleet, 'z1')?.doc.quarantined).toBeUndefined();
  });

  test('of-another-host-and-then-of-a-third: the alarm names the one whose switch it shows now', () => {
    const fleet = fleetOf(host('c1', { switch: ONE }), host('c3', { switch: TWO }), host('c2'));
    reportSwitch(fleet, 'c2', ONE);
    reportSwitch(fleet, 'c2', TWO);
    expect(alarms(fleet)).toEqual([expect.stringContaining("has the identity of host c3's")]);
    const removed = fleetOf(host('c1', { switch: ONE }), host('c3', { switch: TWO, state: 'removed' }), host('c2'));
    reportSwitch(removed, 'c2', ONE);
    reportSwitch(removed, 'c2', TWO);
    expect(alarms(removed)).toEqual([expect.stringContaining('The removed host c3 still reports')]);
  });

  test('of-a-host-that-was-forced-down-says-nothing-against-others', () => {
    const off = { because: 'operator-fenced' as const, atMs: 1 };
    const fleet = fleetOf(host('z1'), host('b1', { switch: ONE, quarantined: off }));
    reportSwitch(fleet, 'z1', ONE);
    expect(findHost(fleet, 'z1')?.doc.quarantined).toBeUndefined();
  });

  test('of-a-removed-host-is-not-trusted-and-reported-as-such', () => {
    const fleet = fleetOf(host('c1', { switch: ONE, state: 'removed' }), host('c2'));
    reportSwitch(fleet, 'c2', ONE);
    expect(findHost(fleet, 'c2')?.doc.quarantined).toMatchObject({ because: 'identity', as: 'c1' });
    expect(alarms(fleet)).toMatchInlineSnapshot(`
      [
        "The removed host c1 still reports, from one place (host c2 in quarantine with its switch): re-admit a host that is meant to have the switch.",
      ]
    `);
  });

  test('of-a-removed-host-shown-by-several-counts-and-names-all-of-them', () => {
    const sites = put(SITE, idOf(SITE, 'edge'), { name: 'edge', changedBy: 'test', changedAtMs: 0 });
    const removed = host('c1', { switch: ONE, state: 'removed' });
    const fleet = fleetOf(sites, removed, host('c2'), host('c3'), host('e1', { site: 'edge' }));
    for (const name of ['c3', 'c2', 'e1']) reportSwitch(fleet, name, ONE);
    const decision = recordRemovedHostReport(fleet, { host: 'c1', nowMs: 7 });
    if (decision.kind === 'accept') fleet.apply(fleet.revision + 1, decision.changes);
    const alarm = [...fleet.all(ALARM)].find(({ doc }) => doc.reason.code === 'removed-host-reports');
    expect(alarm?.doc.reason).toMatchObject({ count: 4, itself: true, as: ['c2', 'c3'] });
    expect(alarms(fleet)).toMatchInlineSnapshot(`
      [
        "The removed host c1 still reports, from 4 places (its own agent, with its old credential; hosts c2, c3 and 1 more host in quarantine with its switch): stop that agent, or join c1 again; re-admit a host that is meant to have the switch.",
      ]
    `);
  });

  test('of-a-removed-host-is-not-shown-by-one-that-is-only-called-so', () => {
    const fleet = fleetOf(host('c1', { switch: ONE, state: 'removed' }), host('sys-1', { switch: TWO }));
    const decision = recordRemovedHostReport(fleet, { host: 'c1', nowMs: 7 });
    if (decision.kind === 'accept') fleet.apply(fleet.revision + 1, decision.changes);
    expect([...fleet.all(ALARM)].map(({ doc }) => doc.reason)).toMatchObject([{ count: 1, itself: true, as: [] }]);
  });

  test('an-identity-of-its-own-ends-the-alarm-and-not-the-quarantine', () => {
    const fleet = fleetOf(host('c1', { switch: ONE }), host('c2'));
    reportSwitch(fleet, 'c2', ONE);
    reportSwitch(fleet, 'c2', TWO);
    expect(alarms(fleet)).toEqual([]);
    expect(findHost(fleet, 'c2')?.doc).toMatchObject({ switch: TWO, quarantined: { because: 'identity' } });
  });

  test('a-removed-host-is-not-changed-by-what-it-says', () => {
    const fleet = fleetOf(host('c1', { state: 'removed' }));
    expect(reportSwitch(fleet, 'c1', ONE)).toBe(0);
    expect(reportSwitch(fleet, 'c9', ONE)).toBe(0);
  });
});

describe('a removed host that reports', () => {
  test('is-reported-until-it-is-joined-again', () => {
    const fleet = fleetOf(host('c1', { state: 'removed' }), host('c2'));
    const report = (name: string): Change[] => {
      const decision = recordRemovedHostReport(fleet, { host: name, nowMs: 7 });
      return decision.kind === 'accept' ? [...decision.changes] : [];
    };
    expect(report('c2')).toEqual([]);
    fleet.apply(2, report('c1'));
    expect(alarms(fleet)).toMatchInlineSnapshot(`
      [
        "The removed host c1 still reports, from one place (its own agent, with its old credential): stop that agent, or join c1 again.",
      ]
    `);
    expect(report('c1')).toEqual([]);
    fleet.apply(3, endRemovedReports(fleet, 'c1'));
    expect(alarms(fleet)).toEqual([]);
  });
});
