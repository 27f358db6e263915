// What an agent does for its switch, and what becomes of a host that is ordered to leave.
import { describe, expect, test } from 'vitest';
import { revokeTokenChange } from '../../../access/index.ts';
import { ALARM } from '../../../alarms/index.ts';
import { simulatedIdentity } from '../../../dataplane/index.ts';
import type { SimulatedSwitch } from '../../../dataplane/runtime.ts';
import { idOf, put } from '../../../fleet/index.ts';
import { accept } from '../../../journal/index.ts';
import { ITEM, newOperation, OPERATION, record, type OperationKind } from '../../../operations/index.ts';
import { LinkDown } from '../../../link/index.ts';
import {
  EMPTY_CONTENTS,
  untilConverged,
  peersOn,
  startSwitchWorld,
  type SwitchHost as Host,
  type SwitchWorld as World,
} from './switch-world-fixture.ts';

/** Orders its host to leave. */
const taskKind: OperationKind = {
  name: 'told',
  steps: ['leave'],
  cancel: { kind: 'none', because: 'a test' },
  retry: { kind: 'none', because: 'a test' },
  plan: () => [],
  task: () => ({ kind: 'leave', args: {} }),
  handleTaskAnswer: (item, { outcome, problems = [] }) =>
    outcome === 'done'
      ? record(item, { state: 'done', step: 'leave' })
      : record(item, {
          state: 'running',
          step: 'leave',
          attempt: item.doc.attempt + 1,
          reason: { code: 'not-left', problems },
        }),
};

const worldOf = (...names: readonly string[]): Promise<World> => startSwitchWorld(names, { kinds: [taskKind] });

async function beginLeave({ plane, clock }: World, host: string): Promise<void> {
  const id = idOf(OPERATION, `op-${host}`);
  const item = { key: host, target: { kind: 'host', id: host }, host, step: 'leave' };
  const common = { kind: 'told', title: 'told', by: 'test', nowMs: clock.nowMs(), deadlineMs: 9_000_000 };
  await plane.commit(() => accept(newOperation({ ...common, id, items: [item] }), null));
}

describe('the switch of a host', () => {
  test('follows-the-view-and-is-reported', async () => {
    const world = await worldOf('c1', 'c2');
    const [c1, c2] = world.hosts as [Host, Host];
    await world.clock.until('both have a tunnel', () => peersOn(c1).length + peersOn(c2).length === 2);
    expect(world.plane.host('c1')?.switch).toEqual(simulatedIdentity('c1'));
    expect(c1.simulatedSwitch.contents.flows.length).toBeGreaterThan(0);
  });

  test('is-not-changed-when-it-is-right-also-by-an-agent-that-starts-anew', async () => {
    const world = await worldOf('c1', 'c2');
    const [c1] = world.hosts as [Host, Host];
    await world.clock.until('it has its tunnel', () => peersOn(c1).length === 1);
    await untilConverged(world);
    const { changes } = c1.simulatedSwitch;
    await c1.testHost.stop();
    c1.testHost.start();
    await untilConverged(world);
    expect(c1.simulatedSwitch.changes).toBe(changes);
  });

  test('what-was-changed-behind-its-back-is-put-right-at-the-next-start', async () => {
    const world = await worldOf('c1', 'c2');
    const [c1] = world.hosts as [Host, Host];
    await world.clock.until('it has its tunnel', () => peersOn(c1).length === 1);
    const wanted = c1.simulatedSwitch.contents;
    await c1.testHost.stop();
    c1.simulatedSwitch.reset();
    const theirs = {
      table: 0,
      priority: 1,
      match: 'dl_dst=02:00:00:00:00:01',
      actions: 'drop',
      cookie: '0000000000000001',
    };
    c1.simulatedSwitch.applyForeign([{ kind: 'put-flow', flow: theirs }]);
    c1.testHost.start();
    await untilConverged(world);
    expect(c1.simulatedSwitch.contents.tunnels).toEqual(wanted.tunnels);
    expect(c1.simulatedSwitch.contents.flows).toContainEqual(theirs);
    expect(c1.simulatedSwitch.contents.flows).toHaveLength(wanted.flows.length + 1);
  });

  test.each<readonly [string, (its: SimulatedSwitch) => void, (its: SimulatedSwitch) => void, string]>([
    ['down', ({ faults }) => void (faults.down = true), ({ faults }) => void (faults.down = false), 'switch-down'],
    [
      'forgetful',
      ({ faults }) => void (faults.losesFlows = 1000),
      ({ faults }) => void (faults.losesFlows = 0),
      'differences are left',
    ],
  ])('a-switch-that-is-%s-is-tried-again-and-reported', async (_name, arm, disarm, problem) => {
    const world = await worldOf('c1', 'c2');
    const { clock, plane, hosts } = world;
    const [c1] = hosts as [Host, Host];
    await clock.until('it has its tunnel', () => peersOn(c1).length === 1);
    arm(c1.simulatedSwitch);
    await plane.edit('c2', { tunnelAddress: '172.16.0.99' });
    await clock.until('it says so', () => c1.testHost.agent!.status().problems.join().includes(problem));
    expect(c1.testHost.agent!.status().applied).toBeUndefined();
    disarm(c1.simulatedSwitch);
    await untilConverged(world);
    expect(c1.simulatedSwitch.contents.tunnels).toEqual([{ peer: 'c2', address: '172.16.0.99' }]);
  });

  test('a-tombstoned-host-says-so-on-its-switch-until-it-is-not', async () => {
    const world = await worldOf('c1');
    const [c1] = world.hosts as [Host];
    await world.plane.edit('c1', { state: 'draining' });
    await world.clock.until('it says so', () => c1.simulatedSwitch.contents.externalIds['tombstoned'] === 'true');
    await world.plane.edit('c1', { state: 'recovering' });
    await world.clock.until('it does not', () => !('tombstoned' in c1.simulatedSwitch.contents.externalIds));
  });

  test('a-quarantined-host-is-wiped', async () => {
    const world = await worldOf('c1', 'c2');
    const [c1, c2] = world.hosts as [Host, Host];
    await world.clock.until('both have a tunnel', () => peersOn(c1).length + peersOn(c2).length === 2);
    await world.plane.edit('c1', { quarantined: { because: 'operator-fenced', atMs: 1 } });
    await world.clock.until('it is wiped', () => c1.simulatedSwitch.contents.flows.length === 0);
    expect(c1.simulatedSwitch.contents).toEqual(EMPTY_CONTENTS);
    await world.clock.until('no peer has a tunnel to it', () => peersOn(c2).length === 0);
  });

  test('an-older-agent-leaves-its-switch-alone-and-says-nothing-of-it', async () => {
    const world = await worldOf('c1', 'c2');
    const { clock, plane, hosts } = world;
    const [c1] = hosts as [Host, Host];
    await clock.until('it has its tunnel', () => peersOn(c1).length === 1);
    await c1.testHost.stop();
    c1.simulatedSwitch.reset();
    c1.testHost.start({}, { serviceVersion: 3 });
    await clock.until('it says its version', () => plane.host('c1')?.serviceVersion === 3);
    await untilConverged(world);
    expect([c1.simulatedSwitch.contents, c1.simulatedSwitch.ownPorts]).toEqual([EMPTY_CONTENTS, []]);
    expect(plane.leader.gateway.reports.get('c1')?.report).not.toHaveProperty('switch');
  });
});

describe('ordered to leave', () => {
  async function left(world: World): Promise<void> {
    await beginLeave(world, 'c1');
    await world.clock.until(
      'it has left',
      () => world.hosts[0]!.testHost.agent!.status().refusal?.code === 'leave-ordered',
    );
  }

  test('wipes-what-is-ours-answers-and-is-quiet', async () => {
    const world = await worldOf('c1', 'c2');
    const { clock, plane, hosts } = world;
    const [c1] = hosts as [Host, Host];
    await clock.until('it has its tunnel', () => peersOn(c1).length === 1);
    await left(world);
    expect([c1.simulatedSwitch.contents, c1.simulatedSwitch.ownPorts]).toEqual([EMPTY_CONTENTS, []]);
    const operation = plane.leader.journal.fleet.get(OPERATION, idOf(OPERATION, 'op-c1'));
    expect(operation?.doc.state).toBe('succeeded');
    const calls = c1.testHost.link.calls.length;
    await clock.pass(300_000);
    expect(c1.testHost.link.calls.length).toBe(calls);
    expect([c1.simulatedSwitch.contents, c1.simulatedSwitch.ownPorts]).toEqual([EMPTY_CONTENTS, []]);
    expect(plane.host('c1')?.connection.state).toBe('down');
  });

  test('stays-quiet-after-a-restart-until-it-is-joined-again', async () => {
    const world = await worldOf('c1', 'c2');
    const { clock, plane, hosts } = world;
    const [c1] = hosts as [Host, Host];
    await left(world);
    await c1.testHost.stop();
    const calls = c1.testHost.link.calls.length;
    c1.testHost.start();
    await clock.pass(120_000);
    expect(c1.testHost.link.calls.length).toBe(calls);
    expect(c1.testHost.agent!.status().refusal?.code).toBe('leave-ordered');
    expect([c1.simulatedSwitch.contents, c1.simulatedSwitch.ownPorts]).toEqual([EMPTY_CONTENTS, []]);
    c1.token = await plane.joinToken('c1');
    await clock.until('it is connected again', () => plane.host('c1')?.connection.state === 'up');
    await clock.until('it has its tunnel again', () => peersOn(c1).length === 1);
    expect(c1.testHost.agent!.status().refusal).toBeUndefined();
  });

  test('a-switch-that-is-down-keeps-it-from-leaving-and-it-goes-on-meanwhile', async () => {
    const world = await worldOf('c1', 'c2');
    const { clock, hosts } = world;
    const [c1] = hosts as [Host, Host];
    await clock.until('it has its tunnel', () => peersOn(c1).length === 1);
    // It takes its time to say so: what fails at once is requested again at once.
    c1.simulatedSwitch.faults.slowMs = 1000;
    c1.simulatedSwitch.faults.down = true;
    await beginLeave(world, 'c1');
    await clock.pass(5000);
    expect(c1.testHost.agent!.status().refusal).toBeUndefined();
    c1.simulatedSwitch.faults.down = false;
    await clock.until('it has left', () => c1.testHost.agent!.status().refusal?.code === 'leave-ordered');
    expect([c1.simulatedSwitch.contents, c1.simulatedSwitch.ownPorts]).toEqual([EMPTY_CONTENTS, []]);
  });

  test('a-lost-answer-and-a-credential-that-ended-with-it-are-leave-enough', async () => {
    const world = await worldOf('c1', 'c2');
    const { plane, clock, hosts } = world;
    const [c1] = hosts as [Host, Host];
    const { link } = c1.testHost;
    link.tap = async (name, pass) => {
      const answered = await pass();
      if (name !== 'observe') return answered;
      link.tap = (_name, through) => through();
      await plane.commit(() =>
        accept(
          plane.tokens('c1').map((token) => revokeTokenChange(token, 'test', clock.nowMs())),
          null,
        ),
      );
      throw new LinkDown('the answer is lost');
    };
    await left(world);
    expect([c1.simulatedSwitch.contents, c1.simulatedSwitch.ownPorts]).toEqual([EMPTY_CONTENTS, []]);
  });

  describe.each([false, true])('and brought back before it was connected, restarted in between: %s', (restarted) => {
    test('it-stays-and-its-switch-is-reconciled-again', async () => {
      const world = await worldOf('c1', 'c2');
      const { plane, clock, hosts } = world;
      const [c1] = hosts as [Host, Host];
      await clock.until('it has its tunnel', () => peersOn(c1).length === 1);
      c1.testHost.link.tap = async (name, pass) => {
        if (name === 'observe') throw new LinkDown('the answer is lost');
        return pass();
      };
      await beginLeave(world, 'c1');
      await clock.until('it is wiped', () => peersOn(c1).length === 0);
      await clock.pass(3000);
      const item = plane.leader.journal.fleet.get(ITEM, idOf(ITEM, 'op-c1.c1'))!;
      await plane.commit(() => accept([put(ITEM, item.id, { ...item.doc, state: 'cancelled' })], null));
      if (restarted) {
        await c1.testHost.stop();
        c1.testHost.start();
      }
      c1.testHost.link.tap = (_name, pass) => pass();
      await clock.until('it has its tunnel again', () => peersOn(c1).length === 1);
      expect(c1.testHost.agent!.status().refusal).toBeUndefined();
      await untilConverged(world);
    });
  });
});

describe('identities of switches', () => {
  test('a-switch-with-the-identity-of-another-host-is-not-trusted', async () => {
    const world = await worldOf('c1', 'c2');
    const { clock, plane, hosts } = world;
    const [, c2] = hosts as [Host, Host];
    await clock.until('both have a tunnel', () => peersOn(c2).length === 1);
    await c2.testHost.stop();
    c2.simulatedSwitch.currentIdentity = simulatedIdentity('c1');
    c2.testHost.start();
    await clock.until('it is distrusted', () => plane.host('c2')?.quarantined !== undefined);
    expect(plane.host('c2')?.quarantined).toMatchObject({ because: 'identity', as: 'c1' });
    expect(plane.host('c1')?.quarantined).toBeUndefined();
    const alarms = [...plane.leader.journal.fleet.all(ALARM)].map(({ doc }) => doc.reason);
    expect(alarms).toContainEqual({ code: 'switch-identity-shared', host: 'c2', other: 'c1' });
    await clock.until('it is wiped', () => c2.simulatedSwitch.contents.flows.length === 0);
  });

  test('a-bridge-that-comes-later-is-reported-soon', async () => {
    const world = await worldOf('c1');
    const { clock, plane, hosts } = world;
    const [c1] = hosts as [Host];
    await c1.testHost.stop();
    c1.simulatedSwitch.currentIdentity = { systemId: 'system-c1' };
    c1.testHost.start();
    await clock.until('it is reported', () => plane.host('c1')?.switch?.datapathId === undefined);
    c1.simulatedSwitch.currentIdentity = simulatedIdentity('c1');
    await clock.until('it is reported', () => plane.host('c1')?.switch?.datapathId !== undefined, 15_000);
  });

  test.each(['its-switch-answers', 'its-switch-is-down-at-first'])(
    'a-host-that-was-removed-while-it-was-away-is-wiped-and-quiet: %s',
    async (how) => {
      const world = await worldOf('c1', 'c2');
      const { clock, plane, hosts } = world;
      const [c1] = hosts as [Host, Host];
      await clock.until('it has its tunnel', () => peersOn(c1).length === 1);
      await c1.testHost.stop();
      for (const state of ['draining', 'drained', 'finalizing', 'removed'] as const) await plane.edit('c1', { state });
      const ended = plane.tokens('c1').map((token) => revokeTokenChange(token, 'test', clock.nowMs()));
      await plane.commit(() => accept(ended, null));
      c1.simulatedSwitch.faults.down = how === 'its-switch-is-down-at-first';
      c1.testHost.start();
      await clock.pass(60_000);
      expect(c1.testHost.agent!.status().refusal?.code).toBe('host-removed');
      c1.simulatedSwitch.faults.down = false;
      await clock.until('it is wiped', () => peersOn(c1).length === 0);
      await clock.pass(10_000);
      const calls = c1.testHost.link.calls.length;
      await c1.testHost.stop();
      c1.testHost.start();
      await clock.pass(120_000);
      expect(c1.testHost.link.calls.length).toBe(calls);
      expect([c1.simulatedSwitch.contents, c1.simulatedSwitch.ownPorts]).toEqual([EMPTY_CONTENTS, []]);
      expect(c1.testHost.agent!.status().refusal?.code).toBe('host-removed');
      await plane.edit('c1', { state: 'joining' });
      c1.token = await plane.joinToken('c1');
      await clock.until('it has its tunnel again', () => peersOn(c1).length === 1);
      expect(c1.testHost.agent!.status().refusal).toBeUndefined();
    },
  );

  test('a-removed-host-that-reports-raises-one-alarm', async () => {
    const world = await worldOf('c1');
    const { clock, plane } = world;
    const { connection: _, ...rest } = plane.host('c1')!;
    await plane.edit('c1', { state: 'draining' });
    await plane.edit('c1', { state: 'drained' });
    await plane.edit('c1', { state: 'finalizing' });
    await plane.edit('c1', { ...rest, state: 'removed' });
    const reports = (): unknown[] =>
      [...plane.leader.journal.fleet.all(ALARM)].filter(({ doc }) => doc.reason.code === 'removed-host-reports');
    await clock.until('it is reported', () => reports().length === 1);
    const { revision } = plane.leader.journal.fleet;
    await clock.pass(30_000);
    expect(plane.leader.journal.fleet.revision).toBe(revision);
  });
});
