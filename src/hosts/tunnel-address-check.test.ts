import { describe, expect, test } from 'vitest';
import { accessModel } from '../access/index.ts';
import { ALARM, alarmId, alarmsModel } from '../alarms/index.ts';
import { Fleet, idOf, put, Registry, type Change } from '../fleet/index.ts';
import type { Decision } from '../journal/index.ts';
import { OPERATION, operationsModel } from '../operations/index.ts';
import { SITE, sitesModel } from '../sites/index.ts';
import { addressSentences, planAddressAlarms } from './address-alarms.ts';
import { editHost, findHost, joinHosts, type HostSpec } from './decide.ts';
import { hostsModel } from './fleet-model.ts';
import { HOST, type Host } from './model.ts';
import { hostChange } from './preview/preview-fixture.ts';
import { reAdmitHost } from './join/re-admit.ts';
import { removedReportAlarm } from './removed-reports.ts';
import { remainsOf } from './scale-in/removed-record.ts';
import { canonicalAddress } from './tunnel-address-index.ts';

const IDENTITY = { datapathId: '00000000000000a1' };
const NOW = { by: 'ann', nowMs: 9 };

function fleetOf(...changes: readonly Change[]): Fleet {
  const fleet = new Fleet(new Registry([accessModel, operationsModel, alarmsModel, sitesModel, hostsModel]));
  const sites = ['central', 'edge'].map((name) =>
    put(SITE, idOf(SITE, name), { name, changedBy: 'test', changedAtMs: 0 }),
  );
  fleet.apply(1, [...sites, ...changes]);
  return fleet;
}

function join(fleet: Fleet, hosts: readonly HostSpec[], callerSite?: string): Decision<unknown> {
  return joinHosts(fleet, { hosts, operation: idOf(OPERATION, 'op-1'), deadlineMs: 1000, callerSite, ...NOW });
}

function edit(fleet: Fleet, id: string, tunnelAddress: string | null, callerSite?: string): Decision<Host> {
  return editHost(fleet, { id, edit: { tunnelAddress }, callerSite, ...NOW });
}

function refusalOf(decision: Decision<unknown>): string {
  return decision.kind === 'refuse' ? `${decision.refusal.code} ${decision.refusal.field}` : 'accepted';
}

const C1 = { name: 'c1', tunnelAddress: '10.0.0.1' };
const QUARANTINE = { because: 'operator-fenced', atMs: 3 } as const;
const removed = (facts: Partial<Host> & { name: string }): Change => {
  const { doc, id } = hostChange(facts);
  return put(HOST, idOf(HOST, id), remainsOf(doc as Host, NOW));
};

/** The agent of a removed host presents the credential that it had. */
function report(fleet: Fleet, host: string): void {
  const changes = removedReportAlarm(fleet, { removed: findHost(fleet, host)!, itself: true, nowMs: 7 });
  fleet.apply(fleet.revision + 1, changes);
}

describe('the tunnel address of another host', () => {
  test.each<readonly [string, Partial<Host>]>([
    ['in-service', {}],
    ['joining', { state: 'joining' }],
    ['in-quarantine', { quarantined: QUARANTINE }],
    ['finalizing', { state: 'finalizing' }],
    ['of-another-site', { site: 'edge' }],
  ])('is-refused-at-join-and-edit: %s', (_name, facts) => {
    const fleet = fleetOf(hostChange({ ...C1, ...facts }), hostChange({ name: 'c2', tunnelAddress: '10.0.0.2' }));
    expect(refusalOf(join(fleet, [{ name: 'c8' }, { name: 'c9', tunnelAddress: '10.0.0.1' }]))).toBe(
      'tunnel-address-taken /hosts/1/tunnelAddress',
    );
    const refused = edit(fleet, 'c2', '10.0.0.1');
    expect(refusalOf(refused)).toBe('tunnel-address-taken /tunnelAddress');
    expect(refused).toMatchObject({ refusal: { kind: 'conflict', facts: { host: 'c2', other: 'c1' } } });
  });

  test('is-refused-while-a-removed-host-that-had-it-reports', () => {
    const fleet = fleetOf(removed(C1), hostChange({ name: 'c2' }));
    expect(refusalOf(edit(fleet, 'c2', '10.0.0.1'))).toBe('accepted');
    report(fleet, 'c1');
    expect(refusalOf(edit(fleet, 'c2', '10.0.0.1'))).toBe('tunnel-address-taken /tunnelAddress');
    expect(edit(fleet, 'c2', '10.0.0.1')).toMatchObject({
      refusal: {
        message:
          'Host "c1" was removed, still reports and had the tunnel address 10.0.0.1. Stop its agent first, or give host "c2" another address.',
      },
    });
    expect(refusalOf(join(fleet, [C1]))).toBe('accepted');
  });

  test('is-its-own-for-the-machine-of-a-removed-host-that-joined-by-another-name', () => {
    const fleet = fleetOf(
      removed({ ...C1, switch: IDENTITY }),
      hostChange({ name: 'c2', switch: IDENTITY, quarantined: { ...QUARANTINE, because: 'identity' } }),
      hostChange({ name: 'c3' }),
    );
    fleet.apply(2, removedReportAlarm(fleet, { removed: findHost(fleet, 'c1')!, nowMs: 7 }));
    expect(refusalOf(edit(fleet, 'c2', '10.0.0.1'))).toBe('accepted');
    expect(refusalOf(edit(fleet, 'c3', '10.0.0.1'))).toBe('tunnel-address-taken /tunnelAddress');
  });

  test('is-refused-without-a-word-about-who-has-it-where-the-caller-may-not-look', () => {
    const fleet = fleetOf(hostChange(C1), hostChange({ name: 'e1', site: 'edge' }));
    for (const decision of [
      edit(fleet, 'e1', '10.0.0.1', 'edge'),
      join(fleet, [{ name: 'e2', site: 'edge', tunnelAddress: '10.0.0.1' }], 'edge'),
    ]) {
      expect(refusalOf(decision)).toMatch(/^tunnel-address-unavailable /);
      expect(JSON.stringify(decision)).not.toMatch(/c1|central/);
    }
    expect(refusalOf(edit(fleet, 'e1', '10.0.0.1', 'central'))).toMatch(/^tunnel-address-taken /);
  });

  test('is-found-in-every-spelling', () => {
    const fleet = fleetOf(hostChange({ name: 'c1', tunnelAddress: 'fd00:0:0:0:0:0:0:A1' }), hostChange({ name: 'c2' }));
    expect(refusalOf(edit(fleet, 'c2', 'fd00::00a1'))).toBe('tunnel-address-taken /tunnelAddress');
    expect(canonicalAddress('::ffff:10.0.0.1')).toBe('10.0.0.1');
    expect(canonicalAddress('10.0.0.1')).toBe('10.0.0.1');
  });

  test('is-refused-within-one-list-of-hosts-that-join', () => {
    const decision = join(fleetOf(), [C1, { name: 'c2' }, { name: 'c3', tunnelAddress: '10.0.0.1' }]);
    expect(refusalOf(decision)).toBe('duplicate-tunnel-address /hosts/2/tunnelAddress');
    const spelled = [{ name: 'c1', tunnelAddress: 'fd00::a1' }, { name: 'c2', tunnelAddress: 'FD00:0::00A1' }]; // prettier-ignore
    expect(refusalOf(join(fleetOf(), spelled))).toBe('duplicate-tunnel-address /hosts/1/tunnelAddress');
  });

  test('is-free-once-its-host-has-another-or-none', () => {
    const fleet = fleetOf(hostChange(C1), hostChange({ name: 'c2' }));
    const moved = edit(fleet, 'c1', '10.0.0.9');
    if (moved.kind === 'accept') fleet.apply(2, moved.changes);
    expect(refusalOf(edit(fleet, 'c2', '10.0.0.1'))).toBe('accepted');
    expect(refusalOf(edit(fleet, 'c2', '10.0.0.9'))).toBe('tunnel-address-taken /tunnelAddress');
    const none = edit(fleet, 'c1', null);
    if (none.kind === 'accept') fleet.apply(3, none.changes);
    expect(refusalOf(edit(fleet, 'c2', '10.0.0.9'))).toBe('accepted');
  });

  test('keeps-a-host-in-quarantine-from-being-trusted-again', () => {
    const fleet = fleetOf(hostChange(C1), hostChange({ ...C1, name: 'c2', quarantined: QUARANTINE }));
    expect(refusalOf(reAdmitHost(fleet, { id: 'c2', reason: 'mended', ...NOW }))).toMatch(/^tunnel-address-taken/);
  });

  test('breaks-the-invariant-when-a-commit-gives-it-all-the-same', () => {
    const fleet = fleetOf(hostChange(C1), hostChange({ name: 'c2' }));
    const invariant = hostsModel.invariants!.find(({ name }) => name.includes('tunnel address'));
    const applied = fleet.apply(2, [hostChange({ ...C1, name: 'c2' })]);
    expect(invariant?.check(applied, fleet)).toEqual(['host c2 got 10.0.0.1, which c1 has']);
    // The host that had it before is not at fault.
    expect(invariant?.check(fleet.apply(3, [hostChange({ ...C1, name: 'c2', baseWeight: 1 })]), fleet)).toEqual([]);
  });
});

describe('an address that several hosts share since an earlier version', () => {
  const look = (fleet: Fleet): number => {
    const changes = planAddressAlarms(fleet, 5);
    if (changes.length > 0) fleet.apply(fleet.revision + 1, changes);
    return changes.length;
  };
  const sentences = (fleet: Fleet): string[] =>
    [...fleet.all(ALARM)]
      .filter(({ doc }) => doc.reason.code === 'tunnel-address-shared')
      .map(({ doc }) => addressSentences[doc.reason.code]!(doc.reason, () => ''));

  test('raises-an-alarm-for-each-until-it-is-gone', () => {
    const fleet = fleetOf(hostChange(C1), hostChange({ ...C1, name: 'c2' }), hostChange({ ...C1, name: 'e1', site: 'edge' })); // prettier-ignore
    expect(look(fleet)).toBe(3);
    expect(look(fleet)).toBe(0);
    expect(sentences(fleet)).toMatchInlineSnapshot(`
      [
        "Host c1 has the tunnel address 10.0.0.1, and so have c2 and 1 more host: each receives packets of the others. Give each its own with "muster hosts edit c1 --tunnel-address", or stop the agent of one that was removed.",
        "Host c2 has the tunnel address 10.0.0.1, and so have c1 and 1 more host: each receives packets of the others. Give each its own with "muster hosts edit c2 --tunnel-address", or stop the agent of one that was removed.",
        "Host e1 has the tunnel address 10.0.0.1, and so have 2 hosts: each receives packets of the others. Give each its own with "muster hosts edit e1 --tunnel-address", or stop the agent of one that was removed.",
      ]
    `);
    expect(fleet.get(ALARM, alarmId('tunnel-address-shared', 'e1'))?.doc).toMatchObject({ site: 'edge' });
    expect(JSON.stringify(fleet.get(ALARM, alarmId('tunnel-address-shared', 'e1')))).not.toMatch(/c1|c2/);
    // An edit of another field is not refused for it.
    expect(refusalOf(edit(fleet, 'c2', '10.0.0.1'))).toBe('accepted');
    for (const [host, address] of [['e1', '10.0.0.3'], ['c2', '10.0.0.2']] as const) {
      const moved = edit(fleet, host, address);
      if (moved.kind === 'accept') fleet.apply(fleet.revision + 1, moved.changes);
      look(fleet);
    } // prettier-ignore
    expect(sentences(fleet)).toEqual([]);
  });

  test('but-not-one-that-a-machine-had-under-the-name-that-was-removed', () => {
    const quarantined = { ...QUARANTINE, because: 'identity' as const };
    const back = hostChange({ ...C1, name: 'c2', switch: IDENTITY, quarantined });
    const fleet = fleetOf(removed({ ...C1, switch: IDENTITY }), back);
    fleet.apply(2, removedReportAlarm(fleet, { removed: findHost(fleet, 'c1')!, nowMs: 7 }));
    expect(look(fleet)).toBe(0);
    fleet.apply(fleet.revision + 1, [hostChange({ name: 'c3', switch: IDENTITY, quarantined })]);
    look(fleet);
    expect(sentences(fleet)).toEqual([
      expect.stringContaining('Host c2 has the tunnel address 10.0.0.1, and so has c1'),
    ]);
  });

  test('and-one-that-a-removed-host-comes-back-to', () => {
    const fleet = fleetOf(removed(C1), hostChange({ ...C1, name: 'c2' }));
    expect(look(fleet)).toBe(0);
    report(fleet, 'c1');
    look(fleet);
    expect(sentences(fleet)).toHaveLength(1);
    fleet.apply(fleet.revision + 1, removedReportAlarm(fleet, { removed: findHost(fleet, 'c1')!, itself: false, nowMs: 9 })); // prettier-ignore
    look(fleet);
    expect([...fleet.all(ALARM)]).toEqual([]);
  });
});
