// A switch that stops obeying while its agent lives, from the agent's probe to the host's document: what is reported, what is recorded,
// and that both ends work with one of an older version.
import { describe, expect, test } from 'vitest';
import { ALARM } from '../../alarms/index.ts';
import { idOf } from '../../fleet/index.ts';
import { findExclusion } from '../../hosts/index.ts';
import { HEARTBEAT } from '../protocol/messages.ts';
import { writeRuntimeState } from './instances/runtime-state.ts';
import type { TaskResult } from '../../operations/index.ts';
import { DiskFailed } from '../../link/index.ts';
import { StateMemoryDisk } from './state/memory-disk.ts';
import {
  startSwitchWorld,
  type SwitchHost,
  type SwitchWorld,
  type SwitchWorldOptions,
} from './switch/switch-world-fixture.ts';

interface ConditionsWorld extends SwitchWorld {
  readonly c1: SwitchHost;
}

async function world(node: SwitchWorldOptions['node'] = {}): Promise<ConditionsWorld> {
  const made = await startSwitchWorld(['c1', 'c2'], { node });
  const [c1] = made.hosts as [SwitchHost];
  return { ...made, c1 };
}

const alarms = ({ plane }: SwitchWorld): string[] => [...plane.leader.journal.fleet.all(ALARM)].map(({ id }) => id);
const degraded = ({ plane }: SwitchWorld, host = 'c1'): readonly string[] =>
  plane.host(host)?.degraded?.map(({ type, code }) => `${type} ${code}`) ?? [];

describe('a switch that stops obeying while its agent lives', { timeout: 60_000 }, () => {
  test('makes-its-host-degraded-within-half-a-minute-and-the-host-is-well-again-when-it-obeys', async () => {
    const cut = await world();
    cut.c1.simulatedSwitch.faults.down = true;
    await cut.clock.pass(30_000);
    expect(degraded(cut)).toEqual(['switch unreachable']);
    expect(cut.plane.host('c1')).toMatchObject({ state: 'active', connection: { state: 'up' } });
    expect(alarms(cut)).toEqual(['host-degraded:c1']);
    expect(degraded(cut, 'c2')).toEqual([]);
    cut.c1.simulatedSwitch.faults.down = false;
    await cut.clock.pass(30_000);
    expect(degraded(cut)).toEqual([]);
    expect(alarms(cut)).toEqual([]);
  });

  test('says-that-it-cannot-serve-when-its-daemon-is-gone', async () => {
    const cut = await world();
    cut.c1.simulatedSwitch.faults.dead = true;
    await cut.clock.pass(30_000);
    expect(cut.plane.host('c1')?.degraded).toMatchObject([{ code: 'not-running', cannotServe: true }]);
  });

  test('and-hangs-does-not-silence-its-host', async () => {
    const cut = await world();
    cut.c1.simulatedSwitch.faults.slowMs = 600_000;
    await cut.clock.pass(120_000);
    expect(cut.plane.host('c1')?.connection.state).toBe('up');
    expect(degraded(cut)).toEqual(['switch unreachable']);
    cut.c1.simulatedSwitch.faults.slowMs = 0;
    await cut.clock.pass(600_000);
    expect(degraded(cut)).toEqual([]);
  });

  test('for-a-moment-is-nothing', async () => {
    const cut = await world();
    const before = cut.plane.host('c1');
    cut.c1.simulatedSwitch.faults.down = true;
    await cut.clock.pass(4000);
    cut.c1.simulatedSwitch.faults.down = false;
    await cut.clock.pass(60_000);
    expect(cut.plane.host('c1')).toBe(before);
  });

  test('again-and-again-costs-a-few-commits-an-hour', async () => {
    const cut = await world();
    const { fleet } = cut.plane.leader.journal;
    const before = fleet.revision;
    for (let nth = 0; nth < 90; nth += 1) {
      cut.c1.simulatedSwitch.faults.down = nth % 2 === 0;
      await cut.clock.pass(40_000);
    }
    expect(fleet.revision - before).toBeGreaterThan(1);
    expect(fleet.revision - before).toBeLessThan(30);
  });

  test('is-told-to-the-next-holder-as-well', async () => {
    const cut = await world();
    cut.c1.simulatedSwitch.faults.down = true;
    await cut.clock.pass(30_000);
    await cut.plane.leader.stop();
    await cut.plane.start('s2', 's1');
    await cut.clock.until('another decides', () => cut.plane.hasLeader);
    await cut.clock.pass(60_000);
    expect(degraded(cut)).toEqual(['switch unreachable']);
    cut.c1.simulatedSwitch.faults.down = false;
    await cut.clock.pass(60_000);
    expect(degraded(cut)).toEqual([]);
  });

  test('that-takes-nothing-although-it-answers-counts-as-well', async () => {
    const cut = await world();
    const flow = cut.c1.simulatedSwitch.contents.flows[0]!;
    // Another program's flow is where ours should be: it is never touched, so the view cannot be had.
    cut.c1.simulatedSwitch.applyForeign([
      { kind: 'remove-flow', flow },
      { kind: 'put-flow', flow: { ...flow, cookie: '0000000000000001' } },
    ]);
    await cut.clock.pass(120_000);
    expect(degraded(cut)).toEqual(['switch not-converging']);
  });
});

describe('an instance runtime that lost its record', () => {
  test('makes-its-host-degraded-with-an-alarm-and-the-host-does-not-leave-unless-forced', async () => {
    const disk = new StateMemoryDisk();
    const record = writeRuntimeState({ instances: [], sent: [] });
    await disk.write('machine', record.slice(1));
    const { clock, plane, c1 } = await world({ disk });
    const made = { clock, plane, hosts: [c1] };
    await clock.pass(30_000);
    expect(degraded(made)).toEqual(['instance-runtime state-damaged']);
    expect(alarms(made)).toEqual(['host-degraded:c1']);
    const { reason } = plane.leader.journal.fleet.get(ALARM, idOf(ALARM, 'host-degraded:c1'))?.doc ?? {};
    expect(JSON.stringify(reason)).toContain('--recover-instances');
    const signal = new AbortController().signal;
    const fence = { stamp: { journalId: 'j', leaseEpoch: 1, revision: 1 }, host: 'c1', serviceVersion: 6, signal };
    const leave = (force: boolean): Promise<TaskResult> =>
      c1.testHost.driver.perform({ id: 'l', kind: 'leave', args: { force } }, fence);
    expect(await leave(false)).toMatchObject({ outcome: 'failed' });
    await disk.write('machine', record);
    await clock.pass(60_000);
    expect(degraded(made)).toEqual([]);
    expect(alarms(made)).toEqual([]);
    expect(await leave(false)).toMatchObject({ outcome: 'done' });
  });
});

describe('what an agent reports as a problem', () => {
  test('makes-its-host-degraded-with-an-alarm-that-says-it-until-it-is-over', async () => {
    const { clock, plane, c1 } = await world();
    const made = { clock, plane, hosts: [c1] };
    const { disk } = c1.testHost;
    const write = disk.write.bind(disk);
    disk.write = () => Promise.reject(new DiskFailed('no space left on device'));
    await plane.edit('c1', { zone: 'other' });
    await clock.pass(60_000);
    expect(degraded(made)).toEqual(['agent problems']);
    expect(plane.host('c1')?.degraded).toMatchObject([{ message: 'no space left on device' }]);
    expect(alarms(made)).toEqual(['host-degraded:c1']);
    disk.write = write;
    await clock.pass(120_000);
    expect([degraded(made), alarms(made)]).toEqual([[], []]);
  });
});

describe('a BFD port that the switch could not open', () => {
  test('makes-its-host-degraded-with-the-peer-and-the-port-and-keeps-nothing-away-from-it', async () => {
    const { clock, plane, c1 } = await world();
    const made = { clock, plane, hosts: [c1] };
    c1.simulatedSwitch.bfdPortFaults.set('c2', 'File exists');
    await clock.pass(120_000);
    expect(degraded(made)).toEqual(['agent problems']);
    expect(alarms(made)).toEqual(['host-degraded:c1']);
    const host = plane.host('c1')!;
    const message = expect.stringMatching(
      /^BFD with c2 does not run: the switch could not open mh\w{10}: File exists$/,
    ) as string;
    expect(host.degraded).toMatchObject([{ message }]);
    expect([findExclusion(host, 'services'), findExclusion(host, 'instances')]).toEqual([undefined, undefined]);
    c1.simulatedSwitch.bfdPortFaults.clear();
    await clock.pass(120_000);
    expect([degraded(made), alarms(made)]).toEqual([[], []]);
  });

  test('many-of-them-are-named-in-part', async () => {
    const { clock, plane, c1 } = await world();
    for (let nth = 2; nth < 30; nth += 1) c1.simulatedSwitch.bfdPortFaults.set(`c${nth}`, 'No buffer');
    await clock.pass(120_000);
    expect(c1.testHost.link.beats.findLast(({ report }) => report !== undefined)?.report?.problems).toEqual([
      expect.stringContaining('BFD with c2 does not run'),
      expect.stringContaining('BFD with c3 does not run'),
      expect.stringContaining('BFD with c4 does not run'),
      'BFD does not run with 25 more',
    ]);
    expect(plane.host('c1')?.degraded).toHaveLength(1);
  });
});

describe('agents and servers of other versions', () => {
  test('a-server-that-does-not-know-conditions-is-not-sent-any', async () => {
    const cut = await world();
    cut.c1.testHost.link.tap = async (name, pass) => {
      const answer = await pass();
      if (name !== 'heartbeat') return answer;
      const { answer: response, ...rest } = answer as { answer: { features?: unknown } };
      const { features: _, ...older } = response;
      return { ...rest, answer: older } as typeof answer;
    };
    await cut.clock.pass(10_000);
    cut.c1.testHost.link.beats.length = 0;
    cut.c1.simulatedSwitch.faults.down = true;
    await cut.clock.pass(60_000);
    const { beats } = cut.c1.testHost.link;
    expect(beats.length).toBeGreaterThan(5);
    expect(beats.filter((beat) => 'conditions' in beat)).toEqual([]);
    expect(cut.plane.host('c1')?.connection.state).toBe('up');
  });

  test('an-agent-that-says-nothing-of-conditions-counts-as-before', async () => {
    const cut = await world();
    cut.c1.simulatedSwitch.faults.down = true;
    await cut.clock.pass(30_000);
    expect(degraded(cut)).toEqual(['switch unreachable']);
    // It is replaced by one of an older version, which reports nothing of it.
    await cut.c1.testHost.stop();
    const { gateway } = cut.plane.leader;
    const token = cut.plane.tokens('c1').find(({ doc }) => doc.role === 'agent');
    for (let nth = 0; nth < 10; nth += 1) {
      gateway.heartbeat(
        { host: 'c1', token: token?.id },
        { serviceVersion: cut.plane.host('c1')?.serviceVersion ?? 0 },
      );
      await cut.clock.pass(5000);
    }
    expect(degraded(cut)).toEqual([]);
  });

  test('a-heartbeat-names-at-most-a-few, of the types that version 0.1.0 takes', () => {
    expect(HEARTBEAT.properties.conditions).toMatchObject({
      maxItems: 4,
      items: { properties: { type: { enum: ['switch', 'instance-runtime'] } } },
    });
  });
});
