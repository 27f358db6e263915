// Instances that ended by themselves: what is recorded of a host's report, how it is shown, and which alarm follows.
import { describe, expect, test } from 'vitest';
import { ALARM, alarmId } from '../../alarms/index.ts';
import { idOf, put } from '../../fleet/index.ts';
import type { InstancesWorld } from '../instances-fixture.ts';
import { INSTANCE, type Instance, type InstanceState } from '../model.ts';
import { startActive } from '../move/moves-fixture.ts';
import { instanceToJsonText } from '../representations.ts';
import { decideDegraded } from './alarm.ts';
import { composeEndedChanges, readReportedInstances, recordEnded, type ReportedInstance } from './ended.ts';

const WEB = idOf(INSTANCE, 'web');
const instanceIn = (world: InstancesWorld): Instance => world.instance('web') as Instance;
const ended = (endedAtMs = 100, state = 'ended'): ReportedInstance => ({ id: 'web', state, endedAtMs });

async function report(world: InstancesWorld, ...reported: readonly ReportedInstance[]): Promise<void> {
  const { host = '' } = instanceIn(world);
  const { nowMs } = world;
  await world.commit((fleet) => recordEnded(fleet, { host, reported, nowMs }));
}

/** What a report would change now. */
function changesOf(world: InstancesWorld, facts: Partial<ReportedInstance> & { readonly host?: string } = {}): number {
  const { host = instanceIn(world).host ?? '', ...reported } = facts;
  return composeEndedChanges(world.fleet, { host, reported: [{ ...ended(), ...reported }], nowMs: 1 }).length;
}

const shown = (
  world: InstancesWorld,
): { degraded?: { code: string; message: string; sinceMs: number; ports: unknown[] } } =>
  JSON.parse(instanceToJsonText({ id: WEB, revision: 1, doc: instanceIn(world) }, world.fleet)) as never;

describe('what a host reports', () => {
  test('is-recorded-once-for-each-end, and-when-it-runs-again', async () => {
    const world = await startActive();
    const { host } = instanceIn(world);
    await report(world, ended());
    const atMs = world.nowMs;
    expect(instanceIn(world).ended).toEqual({ host, reportedMs: 100, atMs, times: 1, runsAgain: false });
    expect(instanceIn(world).changedBy).toBe('agents');
    expect(changesOf(world)).toBe(0);
    await world.settle();
    await report(world, ended(100, 'running'));
    expect(instanceIn(world).ended).toEqual({ host, reportedMs: 100, atMs, times: 1, runsAgain: true });
    // It ended and was started again between two reports.
    await report(world, ended(200, 'running'));
    expect(instanceIn(world).ended).toMatchObject({ reportedMs: 200, times: 2, runsAgain: true });
    expect(instanceIn(world).ended?.atMs).toBeGreaterThan(atMs);
    expect(instanceIn(world).state).toBe('active');
  });

  test('counts-only-where-the-instance-is-to-run', async () => {
    const world = await startActive();
    expect([changesOf(world), changesOf(world, { host: 'h9' }), changesOf(world, { id: 'other' })]).toEqual([1, 0, 0]);
    const states: readonly InstanceState[] = ['active', 'moving', 'shelving', 'deleting', 'error', 'rebuilding'];
    const recorded: string[] = [];
    for (const state of states) {
      await world.put(put(INSTANCE, WEB, { ...instanceIn(world), state }));
      if (changesOf(world) > 0) recorded.push(state);
    }
    expect(recorded).toEqual(['active', 'moving']);
  });

  test('that-it-runs-says-nothing-of-an-end', async () => {
    const world = await startActive();
    const running = {
      host: instanceIn(world).host ?? '',
      reported: [{ id: 'web', state: 'running' }],
      nowMs: 1,
    };
    expect(composeEndedChanges(world.fleet, running)).toEqual([]);
  });

  test.each([
    ['nothing', undefined],
    ['a-number, as-agents-of-before', 3],
    ['a-list-of-what-is-none', [null, 'web', { id: 3, state: 'ended' }, { id: 'web' }, { ...ended(), endedAtMs: 'x' }]],
    ['a-time-that-is-none', [ended(-1), ended(0.5), ended(Number.NaN)]],
  ])('is-read-with-care: %s', (_name, reported) => {
    expect(readReportedInstances(reported)).toEqual([]);
  });

  test('of-what-is-right-among-what-is-not-is-read', () => {
    expect(readReportedInstances([null, ended(), { id: 'db', state: 'running' }])).toEqual([
      ended(),
      { id: 'db', state: 'running' },
    ]);
  });
});

describe('an instance that ended by itself', () => {
  test('is-degraded-until-it-runs-again', async () => {
    const world = await startActive();
    await report(world, ended());
    const { host = '' } = instanceIn(world);
    expect(shown(world).degraded).toMatchObject({ code: 'instance-ended', sinceMs: world.nowMs, ports: [] });
    expect(shown(world).degraded?.message).toContain(`Instance web ended by itself on host ${host} (once since`);
    await report(world, ended(100, 'running'));
    expect(shown(world).degraded).toBeUndefined();
  });

  test('is-not-any-more-when-it-is-elsewhere', async () => {
    const world = await startActive();
    await report(world, ended());
    await world.put(put(INSTANCE, WEB, { ...instanceIn(world), host: 'h9' }));
    expect(shown(world).degraded?.code).not.toBe('instance-ended');
  });

  test('raises-an-alarm-when-it-stays-away-for-ten-seconds, which-ends-when-it-runs-again', async () => {
    const world = await startActive();
    await report(world, ended());
    const atMs = world.nowMs;
    const alarm = (): unknown => world.fleet.get(ALARM, alarmId('instance-ended', 'web'))?.doc;
    expect(decideDegraded(world.fleet, 'web', atMs + 9999)).toEqual({ changes: [], recheckAtMs: atMs + 10_000 });
    await world.put(...decideDegraded(world.fleet, 'web', atMs + 10_000).changes);
    expect(alarm()).toMatchObject({
      severity: 'critical',
      sinceMs: atMs,
      reason: { code: 'instance-ended', times: 1 },
    });
    expect(decideDegraded(world.fleet, 'web', atMs + 20_000).changes).toEqual([]);
    await report(world, ended(100, 'running'));
    await world.put(...decideDegraded(world.fleet, 'web', atMs + 20_000).changes);
    expect(alarm()).toBeUndefined();
  });

  test('of-a-deleted-one-no-alarm-is-left', async () => {
    const world = await startActive();
    await report(world, ended());
    await world.put(...decideDegraded(world.fleet, 'web', world.nowMs + 10_000).changes);
    await world.put({ kind: INSTANCE.name, id: 'web', doc: null });
    const { changes } = decideDegraded(world.fleet, 'web', world.nowMs + 10_000);
    expect(changes).toContainEqual({ kind: ALARM.name, id: 'instance-ended:web', doc: null });
  });
});
