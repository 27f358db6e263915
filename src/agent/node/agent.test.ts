// The agent against a real control plane, in process, on a virtual clock.
import { describe, expect, onTestFinished, test } from 'vitest';
import { TestHost, type TestHostOptions, type Tap } from './agent-fixture.ts';
import type { View } from '../protocol/messages.ts';
import { TestControlPlane } from '../server/control-plane-fixture.ts';
import { LinkDown } from '../../link/index.ts';
import { VirtualClock } from '../../journal/virtual-clock-fixture.ts';

interface World {
  readonly clock: VirtualClock;
  readonly plane: TestControlPlane;
  readonly rack: TestHost;
}

async function worldOf(options: TestHostOptions = {}, servers: readonly string[] = ['s1']): Promise<World> {
  const clock = new VirtualClock();
  const plane = new TestControlPlane(clock);
  for (const server of servers) {
    await plane.start(server);
    await clock.until('there is a lease holder', () => plane.hasLeader);
  }
  await plane.register('c1');
  const joinToken = await plane.joinToken('c1');
  const rack = new TestHost(plane, { joinToken: () => Promise.resolve(joinToken), ...options });
  onTestFinished(async () => {
    await rack.stop();
    await plane.close();
    expect(plane.violations).toEqual([]);
  });
  return { clock, plane, rack };
}

async function activeWorld(options: TestHostOptions = {}, servers?: readonly string[]): Promise<World> {
  const world = await worldOf(options, servers);
  world.rack.start();
  await untilConverged(world);
  return world;
}

/** The host is in service and its machine shows its newest view. */
async function untilConverged({ clock, plane, rack }: World): Promise<void> {
  await clock.until('c1 is active', () => plane.host('c1')?.state === 'active');
  await clock.until('c1 has no task left', () => plane.item('c1')?.state === 'done');
  await clock.until('the machine has converged', () => {
    const { applied, digest } = rack.agent!.status();
    return digest !== undefined && applied === digest && selfState(rack) === 'active';
  });
}

function selfState({ driver }: TestHost): unknown {
  return (driver.view?.parts['self'] as { readonly state?: unknown } | undefined)?.state;
}

const cutOff: Tap = () => Promise.reject(new LinkDown('cut'));

describe('joining', () => {
  test('a-host-comes-into-service-and-says-what-it-waits-for', async () => {
    const { clock, plane, rack } = await worldOf();
    await clock.until('it waits', () => plane.item('c1')?.state === 'waiting');
    expect(plane.item('c1')?.reason).toEqual({ code: 'agent-not-joined', host: 'c1' });
    rack.link.tap = (name, pass) => (name === 'heartbeat' ? Promise.reject(new LinkDown('lost')) : pass());
    rack.start();
    await clock.until('it has joined', () => plane.item('c1')?.reason?.code === 'agent-not-connected');
    rack.link.tap = (_name, pass) => pass();
    await untilConverged({ clock, plane, rack });
    expect(plane.host('c1')).toMatchObject({ serviceVersion: 6, connection: { state: 'up' } });
    expect(rack.driver.performed).toEqual([expect.stringMatching(/\.c1:preflight:1$/)]);
  });

  test('a-machine-that-is-found-wanting-is-looked-at-again', async () => {
    let looks = 0;
    const preflight = (): readonly string[] => ((looks += 1) === 1 ? ['no bridge br-int'] : []);
    const { clock, plane, rack } = await worldOf({ machine: { preflight } });
    rack.start();
    await clock.until('preflight failed', () => plane.item('c1')?.reason?.code === 'preflight-failed');
    expect(plane.item('c1')?.reason).toMatchObject({ host: 'c1', problems: ['no bridge br-int'] });
    await untilConverged({ clock, plane, rack });
    expect(rack.driver.performed.map((task) => task.split(':').at(-1))).toEqual(['1', '2']);
    // The answer to the first look is not kept for ever.
    const stored = JSON.parse((await rack.disk.read('answers')) ?? '') as { readonly answers: unknown };
    expect(stored.answers).toEqual([{ task: rack.driver.performed[1], outcome: 'done' }]);
  });

  test('a-lost-answer-to-a-join-is-asked-for-again-and-given-again', async () => {
    const { clock, plane, rack } = await worldOf();
    let lost = 0;
    rack.link.tap = async (name, pass) => {
      const reply = await pass();
      if (name === 'join' && (lost += 1) <= 3) throw new LinkDown('answer lost');
      return reply;
    };
    rack.start();
    await clock.until('the answer was lost twice', () => lost === 2);
    await rack.stop();
    rack.start();
    await untilConverged({ clock, plane, rack });
    const made = plane.tokens('c1').filter(({ doc }) => doc.role === 'agent');
    expect(made).toHaveLength(1);
    expect(plane.host('c1')?.credential).toBe(made[0]?.id);
  });

  test('a-join-token-that-another-agent-used-is-refused-and-mended-by-a-new-one', async () => {
    const world = await activeWorld();
    const { clock, plane } = world;
    let token = await plane.joinToken('c1');
    const other = new TestHost(plane, { joinToken: () => Promise.resolve(token) });
    onTestFinished(() => other.stop());
    other.start();
    await clock.until('the other one joined', () => other.agent!.status().host === 'c1');
    await clock.until('the first one is refused', () => world.rack.agent!.status().refusal !== undefined);
    expect(world.rack.agent!.status().refusal?.code).toBe('token-revoked');
    await other.stop();
    await world.rack.stop();
    token = await plane.joinToken('c1');
    world.rack.start({}, { joinToken: () => Promise.resolve(token) });
    await clock.until('it is back', () => plane.leader.gateway.reports.get('c1')?.applied !== undefined);
    await clock.until('it is welcome', () => world.rack.agent!.status().refusal === undefined);
    expect(plane.tokens('c1').filter(({ doc }) => doc.role === 'agent' && doc.revoked === undefined)).toHaveLength(1);
  });

  test('a-host-that-joins-another-control-plane-takes-its-views', async () => {
    const { clock, plane, rack } = await activeWorld();
    await rack.stop();
    // Many commits more than the other one has: the old stamp must not count there.
    const other = new TestControlPlane(clock, 'journal-2');
    await other.start('s1');
    await clock.until('there is a lease holder', () => other.hasLeader);
    await other.register('c1');
    const token = await other.joinToken('c1');
    rack.moveTo(other);
    rack.start({}, { joinToken: () => Promise.resolve(token) });
    await clock.until('it is active there', () => other.host('c1')?.state === 'active');
    await clock.until('it has the view', () => rack.agent!.status().stamp?.journalId === 'journal-2');
    await rack.stop();
    await other.close();
    expect(plane.host('c1')?.state).toBe('active');
  });

  test('a-folder-of-another-host-is-not-used', async () => {
    const { rack } = await activeWorld();
    await rack.stop();
    rack.start({}, { name: 'c2' });
    await expect(rack.stop()).rejects.toThrow('belongs to host "c1"');
    rack.start();
  });
});

describe('when the server is away', () => {
  test('the-host-keeps-its-view-and-a-reconnect-changes-nothing', async () => {
    const { clock, plane, rack } = await activeWorld();
    const { applies, changeCount } = rack.driver;
    const before = rack.agent!.status();
    rack.link.tap = cutOff;
    await clock.pass(120_000);
    expect(plane.host('c1')?.connection.state).toBe('down');
    expect(rack.agent!.status()).toMatchObject({
      isServerUnreachable: true,
      digest: before.digest,
      applied: before.applied,
    });
    const polls = rack.link.viewRequests.length;
    rack.link.tap = (_name, pass) => pass();
    await clock.until('it is connected again', () => plane.host('c1')?.connection.state === 'up');
    // The first poll requests the whole view, those after it for another one.
    expect(rack.link.viewRequests[polls]).toEqual({ words: 'glossary' });
    expect(rack.link.viewRequests.at(-1)).toMatchObject({ digest: before.digest });
    expect(rack.agent!.status()).toMatchObject({ isServerUnreachable: false, applied: before.applied });
    expect(rack.driver).toMatchObject({ applies, changeCount });
  });

  test('an-agent-that-starts-meanwhile-works-from-its-disk', async () => {
    const { clock, plane, rack } = await activeWorld();
    await rack.stop();
    const { applies, changeCount } = rack.driver;
    plane.reachable.clear();
    rack.start();
    await clock.until('it works alone', () => rack.agent!.status().isServerUnreachable);
    await clock.until('the machine has converged', () => rack.agent!.status().applied !== undefined);
    expect(rack.driver).toMatchObject({ applies: applies + 1, changeCount });
  });

  test('tasks-of-a-view-from-the-disk-wait-until-a-holder-confirms-it', async () => {
    const world = await worldOf({ machine: { delayMs: 60_000 } });
    const { clock, plane, rack } = world;
    rack.start();
    await clock.until('preflight has begun', () => rack.driver.performed.length === 1);
    await rack.stop();
    rack.link.tap = cutOff;
    rack.start();
    await clock.pass(600_000);
    expect(rack.driver.performed).toHaveLength(1);
    rack.link.tap = (_name, pass) => pass();
    await untilConverged(world);
    expect(plane.host('c1')?.state).toBe('active');
  });

  test('another-server-takes-over-and-confirms-the-same-view', async () => {
    const { clock, plane, rack } = await activeWorld({ servers: ['s1', 's2'] }, ['s1', 's2']);
    const { applies } = rack.driver;
    const before = rack.agent!.status();
    await plane.leader.stop();
    await clock.until('the other one decides', () => plane.hasLeader);
    await clock.until('its stamp is on the view', () => {
      const epoch = rack.agent!.status().stamp?.leaseEpoch ?? 0;
      return epoch > (before.stamp?.leaseEpoch ?? 0);
    });
    expect(rack.agent!.status().digest).toBe(before.digest);
    expect(rack.driver.applies).toBe(applies);
  });

  test('a-server-that-does-not-decide-names-the-one-that-does', async () => {
    const { clock, rack } = await activeWorld({ servers: ['s1'] }, ['s1', 's2']);
    await rack.stop();
    // It has learnt of the other one when it joined.
    rack.start({}, { servers: ['s2'] });
    await clock.until('it is at the holder', () => rack.agent!.status().server === 's1');
    await clock.pass(1000);
    expect(rack.agent!.status()).toMatchObject({ server: 's1', isServerUnreachable: false });
  });
});

describe('a view', () => {
  const tampered =
    (change: (view: View) => View): Tap =>
    async (name, pass) => {
      const reply = await pass();
      if (name !== 'view' || reply.kind !== 'answer' || !('kind' in reply.answer) || reply.answer.kind !== 'view')
        return reply;
      return { kind: 'answer', answer: { kind: 'view', view: change(reply.answer.view) } };
    };

  test.each<[string, (stamp: View['stamp']) => Partial<View['stamp']>]>([
    ['other-journal', () => ({ journalId: 'elsewhere' })],
    ['older-epoch', ({ leaseEpoch }) => ({ leaseEpoch: leaseEpoch - 1 })],
    ['older-revision', () => ({ revision: 1 })],
  ])('of-an-%s-is-refused-and-reported', async (because, change) => {
    const { clock, plane, rack } = await activeWorld();
    const before = rack.agent!.status();
    // Signatures would give it away before its stamp does.
    rack.link.authenticated = true;
    rack.link.tap = tampered((view) => ({
      ...view,
      digest: 'wrong',
      parts: { self: { state: 'wrong' } },
      stamp: { ...view.stamp, ...change(view.stamp) },
    }));
    // The poll that waits already was made before the way was bad.
    await clock.pass(30_000);
    await plane.edit('c1', { zone: 'other' });
    await clock.until(
      'it is reported',
      () => plane.leader.gateway.reports.get('c1')?.report?.refusedView !== undefined,
    );
    expect(plane.leader.gateway.reports.get('c1')?.report?.refusedView?.because).toBe(because);
    expect(rack.agent!.status()).toMatchObject({ digest: before.digest, applied: before.applied });
    rack.link.tap = (_name, pass) => pass();
    await clock.until('it takes the right one', () => rack.agent!.status().digest !== before.digest);
    await clock.until(
      'the report is clear',
      () => plane.leader.gateway.reports.get('c1')?.report?.refusedView === undefined,
    );
  });

  test('that-cannot-be-applied-is-tried-again-and-said', async () => {
    const faults = ['no space left'];
    const { clock, plane, rack } = await worldOf({ machine: { obstacles: () => [...faults] } });
    rack.start();
    await clock.until('it is said', () => (plane.leader.gateway.reports.get('c1')?.report?.problems.length ?? 0) > 0);
    expect(plane.leader.gateway.reports.get('c1')?.report?.problems).toEqual(['no space left']);
    faults.pop();
    await clock.until('it has converged', () => rack.agent!.status().applied !== undefined);
    await clock.until(
      'it is said as well',
      () => plane.leader.gateway.reports.get('c1')?.report?.problems.length === 0,
    );
  });

  test('that-cannot-be-applied-is-in-the-log-once-however-often-it-is-tried', async () => {
    const faults = ['no space left'];
    const { clock, rack } = await worldOf({ machine: { obstacles: () => [...faults] } });
    const logged: string[] = [];
    const take = (facts: object, message: string): void =>
      void (/converged with its view/.test(message) && logged.push(`${message} ${JSON.stringify(facts)}`));
    rack.start({ log: { info: take, warn: take, error: take } });
    await clock.until('it was tried often', () => rack.driver.applies > 3);
    const trouble = 'the machine has not converged with its view; it is tried again {"problems":["no space left"]}';
    expect(logged).toEqual([trouble]);
    faults.pop();
    await clock.until('it has converged', () => rack.agent!.status().applied !== undefined);
    expect(logged).toEqual([trouble, 'the machine has converged with its view again {}']);
  });

  test('that-changes-is-applied-once-and-waited-for-without-asking-often', async () => {
    const { clock, plane, rack } = await activeWorld();
    const { applies } = rack.driver;
    const polls = (): number => rack.link.calls.filter((name) => name === 'view').length;
    const before = polls();
    await clock.pass(250_000);
    expect(polls() - before).toBeLessThanOrEqual(11);
    await plane.edit('c1', { zone: 'other' });
    await clock.settle();
    expect(rack.driver.applies).toBe(applies + 1);
  });
});

describe('a task', () => {
  test('is-done-once-though-its-answers-are-lost-and-its-view-comes-again', async () => {
    const { clock, plane, rack } = await worldOf();
    let lost = 0;
    rack.link.tap = async (name, pass) => {
      if (name === 'observe' && (lost += 1) <= 3) throw new LinkDown('request lost');
      const reply = await pass();
      if (name === 'observe' && (lost += 1) <= 6) throw new LinkDown('answer lost');
      return reply;
    };
    rack.start();
    await untilConverged({ clock, plane, rack });
    expect(rack.driver.performed).toHaveLength(1);
    expect(lost).toBeGreaterThan(3);
  });

  test('that-was-done-before-a-crash-is-answered-from-the-disk', async () => {
    const { clock, plane, rack } = await worldOf();
    rack.link.tap = (name, pass) => (name === 'observe' ? Promise.reject(new LinkDown('lost')) : pass());
    rack.start();
    await clock.until('it is done', () => rack.driver.performed.length === 1);
    await clock.pass(1000);
    await rack.stop();
    rack.link.tap = (_name, pass) => pass();
    rack.start();
    await untilConverged({ clock, plane, rack });
    expect(rack.driver.performed).toHaveLength(1);
  });
});

describe('an agent is patient with', () => {
  test('a-server-that-could-not-take-an-answer', async () => {
    const { clock, plane, rack } = await worldOf();
    let said = 0;
    rack.link.tap = async (name, pass) => {
      if (name !== 'observe' || (said += 1) > 2) return pass();
      return { kind: 'answer', answer: { results: [{ task: rack.driver.performed[0]!, result: 'not-taken' }] } };
    };
    rack.start();
    await untilConverged({ clock, plane, rack });
    expect(said).toBe(3);
  });

  test('a-server-that-does-not-let-it-wait', async () => {
    const { clock, rack } = await activeWorld();
    rack.link.tap = (name, pass) =>
      name === 'view' ? Promise.resolve({ kind: 'answer', answer: { kind: 'unchanged' } }) : pass();
    await clock.pass(30_000);
    const polls = rack.link.viewRequests.length;
    await clock.pass(60_000);
    expect(rack.link.viewRequests.length - polls).toBeLessThan(20);
  });

  test('servers-that-name-each-other', async () => {
    const { clock, rack } = await activeWorld({ servers: ['s1', 's2'] });
    rack.link.tap = (_name, _pass, to) =>
      Promise.resolve({ kind: 'elsewhere', holder: to.server === 's1' ? 's2' : 's1' });
    await clock.pass(30_000);
    const calls = rack.link.calls.length;
    await clock.pass(60_000);
    expect(rack.agent!.status().isServerUnreachable).toBe(true);
    expect(rack.link.calls.length - calls).toBeLessThan(100);
    rack.link.tap = (_name, pass) => pass();
    await clock.until('it finds the way', () => !rack.agent!.status().isServerUnreachable);
  });
});

describe('a removed host', () => {
  test('is-told-so-and-touches-nothing', async () => {
    const { clock, plane, rack } = await activeWorld();
    const { changeCount, applies } = rack.driver;
    for (const state of ['draining', 'drained', 'finalizing'] as const) await plane.edit('c1', { state });
    await clock.until('it follows', () => rack.driver.applies > applies);
    const before = rack.driver.changeCount;
    await plane.edit('c1', { state: 'removed' });
    await clock.until('it is reported', () => rack.agent!.status().refusal !== undefined);
    await clock.pass(600_000);
    expect(rack.agent!.status().refusal?.code).toBe('host-removed');
    expect(rack.driver.changeCount).toBe(before);
    expect(before).toBeGreaterThan(changeCount);
    expect(plane.host('c1')?.state).toBe('removed');
  });
});
