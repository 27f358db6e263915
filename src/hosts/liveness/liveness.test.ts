import { describe, expect, test } from 'vitest';
import { alarmsModel, ALARM, alarmId } from '../../alarms/index.ts';
import { finish, Fleet, idOf, put, Registry } from '../../fleet/index.ts';
import { operationsModel } from '../../operations/index.ts';
import { SITE, sitesModel } from '../../sites/index.ts';
import {
  addHeartbeat,
  assessConnection,
  LIVENESS,
  addLoss,
  NO_HEARTBEAT_HISTORY,
  type HeartbeatHistory,
} from './liveness.ts';
import { planLiveness, recordSilentSites, recordTransitions, type LivenessPlan } from './plan.ts';
import { hostsModel } from '../fleet-model.ts';
import { HOST, type ConnectionState, type Host } from '../model.ts';

const settings = LIVENESS.defaultValue;
const START = 1_000_000;
const historyAt = (ms: number): HeartbeatHistory => addHeartbeat(NO_HEARTBEAT_HISTORY, ms, settings);

describe('one host', () => {
  const at = (
    connection: ConnectionState,
    heartbeats: HeartbeatHistory,
    nowMs: number,
    sinceMs = START - 1_000_000,
  ): ConnectionState =>
    assessConnection({ host: 'c1', site: 's', connection, heartbeats }, { sinceMs, nowMs }, settings);

  test.each<[name: string, connection: ConnectionState, silentMs: number, wanted: ConnectionState]>([
    ['a heartbeat just now is up', 'unknown', 0, 'up'],
    ['silent for less than suspect-after stays up', 'up', 14_999, 'up'],
    ['silent for suspect-after is suspect', 'up', 15_000, 'suspect'],
    ['suspect stays suspect until down-after', 'suspect', 59_999, 'suspect'],
    ['silent for down-after is down', 'suspect', 60_000, 'down'],
    ['down stays down while silent', 'down', 500_000, 'down'],
  ])('%s', (_name, connection, silentMs, wanted) => {
    expect(at(connection, historyAt(START), START + silentMs)).toBe(wanted);
  });

  test('without-a-heartbeat-it-is-unknown-not-down', () => {
    expect(at('unknown', NO_HEARTBEAT_HISTORY, START + 10 * 60_000)).toBe('unknown');
  });

  test('silence-does-not-count-from-before-the-holder-listened', () => {
    const history = historyAt(START);
    expect(at('up', history, START + 70_000, START + 60_000)).toBe('up');
    expect(at('up', history, START + 76_000, START + 60_000)).toBe('suspect');
  });

  test('a-host-is-not-up-by-a-heartbeat-from-before-the-holders-term', () => {
    const [long, once] = [historyAt(START), addLoss(historyAt(START), START + 20_000)];
    for (const connection of ['down', 'suspect', 'unknown'] as const) {
      expect(at(connection, long, START + 600_000, START + 600_000)).toBe(connection);
      expect(at(connection, once, START + 600_000, START + 600_000)).toBe(connection);
    }
  });

  test('a-lost-host-is-up-again-only-after-a-steady-while-and-each-loss-doubles-it', () => {
    const once = addHeartbeat(addLoss(historyAt(START), START + 20_000), START + 30_000, settings);
    expect(at('suspect', once, START + 30_000)).toBe('suspect');
    expect(at('suspect', once, START + 35_000)).toBe('up');
    const twice = addHeartbeat(
      addLoss(addLoss(historyAt(START), START + 20_000), START + 25_000),
      START + 30_000,
      settings,
    );
    expect(at('suspect', twice, START + 35_000)).toBe('suspect');
    expect(at('suspect', twice, START + 40_000)).toBe('up');
  });

  test('losses-are-forgotten-after-ten-quiet-minutes', () => {
    const old = addLoss(addLoss(historyAt(START), START), START + 1);
    expect(addLoss(old, START + 601_000).losses).toBe(1);
  });
});

function fleetOf(sites: Readonly<Record<string, number>>, connection: ConnectionState): Fleet {
  const fleet = new Fleet(new Registry([operationsModel, alarmsModel, sitesModel, hostsModel]));
  const changes = Object.entries(sites).flatMap(([site, count]) => [
    put(SITE, idOf(SITE, site), { name: site, changedBy: 'test', changedAtMs: 0 }),
    ...Array.from({ length: count }, (_, at) =>
      put(HOST, idOf(HOST, `${site}-${at}`), hostIn(site, `${site}-${at}`, connection)),
    ),
  ]);
  fleet.apply(1, changes);
  return fleet;
}

function hostIn(site: string, name: string, state: ConnectionState): Host {
  return {
    name,
    site,
    zone: 'default',
    aggregates: [],
    capacity: { vcpus: 1, memoryMiB: 1, diskGiB: 1, ratios: { vcpus: 1, memory: 1, disk: 1 } },
    traits: [],
    physicalNetworks: [],
    baseWeight: 0,
    state: 'active',
    connection: { state, sinceMs: 0 },
    serviceVersion: 1,
    credential: 't',
    changedBy: 'test',
    changedAtMs: 0,
  };
}

test('a-host-cannot-be-down-before-it-is-suspect', () => {
  expect(LIVENESS.problems({ ...settings, downAfterMs: 10_000 })).toMatchObject([{ field: '/downAfterMs' }]);
  expect(LIVENESS.problems(settings)).toEqual([]);
});

describe('a whole site', () => {
  const nowMs = START + 61_000;
  const listening = { sinceMs: 0, nowMs };

  function planned(hosts: number, silent: number): LivenessPlan {
    const histories = new Map<string, HeartbeatHistory>();
    for (let at = 0; at < hosts; at += 1) histories.set(`edge-${at}`, historyAt(at < silent ? START : nowMs));
    return finish(planLiveness(fleetOf({ edge: hosts }, 'suspect'), histories, listening, settings));
  }

  test('three-of-ten-silent-hosts-are-down', () => {
    const plan = planned(10, 3);
    expect(plan.transitions.filter((one) => one.to === 'down')).toHaveLength(3);
    expect(plan.silentSites).toEqual([]);
  });

  test('four-of-ten-silent-within-a-minute-are-the-site-and-none-is-down', () => {
    const plan = planned(10, 4);
    expect(plan.transitions.filter((one) => one.to === 'down')).toEqual([]);
    expect(plan.silentSites).toEqual([{ site: 'edge', silent: 4, hosts: 10 }]);
  });

  test.each([
    ['one-of-two', 2, 1, 1],
    ['both-of-two', 2, 2, 0],
    ['two-of-three', 3, 2, 2],
    ['all-three', 3, 3, 0],
    ['two-of-five', 5, 2, 2],
    ['three-of-five', 5, 3, 0],
  ])('a-few-are-a-mass-only-if-all-others-are-silent-too: %s', (_name, hosts, silent, down) => {
    expect(planned(hosts, silent).transitions.filter((one) => one.to === 'down')).toHaveLength(down);
  });

  test('hosts-that-were-down-before-do-not-count: the two that are left are the site', () => {
    const fleet = fleetOf({ edge: 3 }, 'suspect');
    fleet.apply(2, [put(HOST, idOf(HOST, 'edge-2'), hostIn('edge', 'edge-2', 'down'))]);
    const histories = new Map(['edge-0', 'edge-1'].map((host) => [host, historyAt(START)]));
    const plan = finish(planLiveness(fleet, histories, listening, settings));
    expect(plan.transitions.filter((one) => one.to === 'down')).toEqual([]);
    expect(plan.silentSites).toEqual([{ site: 'edge', silent: 2, hosts: 3 }]);
  });

  test('who-wants-none-of-it-says-a-hundred-percent', () => {
    const histories = new Map(Array.from({ length: 5 }, (_, at) => [`edge-${at}`, historyAt(START)]));
    const never = { ...settings, massSilencePercent: 100 };
    const plan = finish(planLiveness(fleetOf({ edge: 5 }, 'suspect'), histories, listening, never));
    expect(plan.transitions.filter((one) => one.to === 'down')).toHaveLength(5);
  });

  test('hosts-that-fell-silent-one-by-one-are-down-one-by-one', () => {
    const histories = new Map(Array.from({ length: 5 }, (_, at) => [`edge-${at}`, historyAt(START - at * 200_000)]));
    const plan = finish(planLiveness(fleetOf({ edge: 5 }, 'suspect'), histories, listening, settings));
    expect(plan.transitions.filter((one) => one.to === 'down')).toHaveLength(5);
  });

  test('another-site-is-assessed-on-its-own', () => {
    const histories = new Map<string, HeartbeatHistory>();
    for (let at = 0; at < 5; at += 1)
      histories.set(`edge-${at}`, historyAt(START)).set(`hub-${at}`, historyAt(at === 0 ? START : nowMs));
    const plan = finish(planLiveness(fleetOf({ edge: 5, hub: 5 }, 'suspect'), histories, listening, settings));
    expect(plan.transitions.filter((one) => one.to === 'down').map((one) => one.host)).toEqual(['hub-0']);
    expect(plan.silentSites.map((one) => one.site)).toEqual(['edge']);
  });

  test('one-alarm-is-raised-once-and-cleared-when-the-site-sends-heartbeats', () => {
    const fleet = fleetOf({ edge: 5 }, 'suspect');
    const plan = { silentSites: [{ site: 'edge', silent: 5, hosts: 5 }] };
    const raise = recordSilentSites(fleet, plan, ['edge'], nowMs);
    if (raise.kind !== 'accept') throw new Error('refused');
    expect(raise.changes).toHaveLength(1);
    fleet.apply(2, raise.changes);
    expect(recordSilentSites(fleet, plan, ['edge'], nowMs + 1)).toMatchObject({ changes: [] });
    const clear = recordSilentSites(fleet, { silentSites: [] }, ['edge'], nowMs + 2);
    if (clear.kind !== 'accept') throw new Error('refused');
    fleet.apply(3, clear.changes);
    expect(fleet.get(ALARM, alarmId('mass-silence', 'edge'))).toBeUndefined();
  });

  test('a-transition-planned-on-another-state-is-left-for-the-next-look', () => {
    const fleet = fleetOf({ edge: 1 }, 'up');
    const decision = recordTransitions(fleet, [{ host: 'edge-0', from: 'suspect', to: 'down' }], nowMs);
    expect(decision).toMatchObject({ kind: 'accept', changes: [] });
  });
});
