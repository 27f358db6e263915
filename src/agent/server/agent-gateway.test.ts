// The agent gateway by itself: which agents wait, which are woken, what it answers without the lease, and which failures it survives.
import { describe, expect, onTestFinished, test } from 'vitest';
import { secretText } from '../../access/index.ts';
import { StoreUnavailable } from '../../journal/index.ts';
import type { AgentIdentity } from './admission.ts';
import type { AgentGateway } from './agent-gateway.ts';
import type { ViewRequest } from '../protocol/messages.ts';
import { TestControlPlane } from './control-plane-fixture.ts';
import type { Reply } from '../../link/index.ts';
import { VirtualClock } from '../../journal/virtual-clock-fixture.ts';
import { LongPollWaiters } from './long-poll-waiters.ts';

const SECRET = `agents-own-${'s'.repeat(40)}`;

interface World {
  readonly clock: VirtualClock;
  readonly plane: TestControlPlane;
  readonly gateway: AgentGateway;
  readonly identities: readonly AgentIdentity[];
}

async function worldOf(...hosts: string[]): Promise<World> {
  const clock = new VirtualClock();
  const plane = new TestControlPlane(clock);
  const { gateway } = await plane.start('s1');
  await clock.until('there is a lease holder', () => plane.hasLeader);
  await plane.register(...hosts);
  const identities: AgentIdentity[] = [];
  for (const host of hosts) {
    const { token } = answerOf(await gateway.join(await plane.joinToken(host), { secret: SECRET }));
    identities.push({ host, token });
  }
  await clock.settle();
  onTestFinished(async () => {
    await plane.close();
    expect(plane.violations).toEqual([]);
  });
  return { clock, plane, gateway, identities };
}

function answerOf<A>(reply: Reply<A>): A {
  if (reply.kind !== 'answer') throw new Error(`no answer but ${JSON.stringify(reply)}`);
  return reply.answer;
}

async function requestHavingView(gateway: AgentGateway, identity: AgentIdentity): Promise<ViewRequest> {
  const answer = answerOf(await gateway.view(identity, {}));
  if (answer.kind !== 'view') throw new Error('no view');
  return { digest: answer.view.digest, leaseEpoch: answer.view.stamp.leaseEpoch };
}

describe('the gateway', () => {
  test('does-not-take-an-old-word-for-a-view-that-comes-again', async () => {
    const { clock, plane, gateway, identities } = await worldOf('c1');
    const [c1] = identities as [AgentIdentity];
    const revision = (): number => plane.leader.journal.fleet.revision;
    gateway.heartbeat(c1, { serviceVersion: 4 });
    await clock.settle();
    const first = await requestHavingView(gateway, c1);
    const applied = first.digest as string;
    gateway.heartbeat(c1, { serviceVersion: 4, applied });
    expect(gateway.hasConverged('c1', revision())).toBe(true);
    await plane.edit('c1', { physicalNetworks: ['p1'] });
    expect((await requestHavingView(gateway, c1)).digest).not.toBe(applied);
    // It is busy with another view now, whatever it said before, and the view that it is to have is the one that it had once.
    await plane.edit('c1', { physicalNetworks: [] });
    await clock.settle();
    expect((await requestHavingView(gateway, c1)).digest).toBe(applied);
    expect(gateway.hasConverged('c1', revision())).toBe(false);
    gateway.heartbeat(c1, { serviceVersion: 4, applied });
    expect(gateway.hasConverged('c1', revision())).toBe(true);
  });

  test('does-not-take-a-word-that-comes-late-for-a-view-that-came-again', async () => {
    const { clock, plane, gateway, identities } = await worldOf('c1');
    const [c1] = identities as [AgentIdentity];
    const revision = (): number => plane.leader.journal.fleet.revision;
    gateway.heartbeat(c1, { serviceVersion: 4 });
    await clock.settle();
    const late = {
      serviceVersion: 4,
      applied: (await requestHavingView(gateway, c1)).digest as string,
      asOf: revision(),
    };
    for (const physicalNetworks of [['p1'], []]) {
      await plane.edit('c1', { physicalNetworks });
      await clock.settle();
      await requestHavingView(gateway, c1);
    }
    gateway.heartbeat(c1, late);
    expect(gateway.hasConverged('c1', revision())).toBe(false);
    gateway.heartbeat(c1, { ...late, asOf: revision() });
    expect(gateway.hasConverged('c1', revision())).toBe(true);
    // Nor is what it has converged with forgotten because of an old word.
    gateway.heartbeat(c1, { serviceVersion: 4, asOf: late.asOf });
    expect(gateway.hasConverged('c1', revision())).toBe(true);
  });

  test('takes-each-of-many-equal-reports-and-refuses-the-next-one-once-its-credential-is-another', async () => {
    const { clock, plane, gateway, identities } = await worldOf('c1');
    const [c1] = identities as [AgentIdentity];
    const { liveness, journal } = plane.leader;
    gateway.heartbeat(c1, { serviceVersion: 4, report: { facts: {}, strays: [], problems: [] } });
    // Not so long that it counts as silent.
    await clock.pass(5000);
    const beat = { serviceVersion: 4, applied: (await requestHavingView(gateway, c1)).digest as string };
    for (let count = 0; count < 3; count += 1) {
      await clock.pass(5000);
      expect(answerOf(gateway.heartbeat(c1, { ...beat }))).toMatchObject({ report: 'known' });
      expect(liveness.lastHeartbeatMs('c1')).toBe(clock.nowMs());
      expect(gateway.hasConverged('c1', journal.fleet.revision)).toBe(true);
    }
    expect(gateway.reports.get('c1')?.baseline).toBeDefined();
    answerOf(await gateway.join(await plane.joinToken('c1'), { secret: SECRET }));
    const lastHeartbeatMs = liveness.lastHeartbeatMs('c1');
    await clock.pass(5000);
    expect(gateway.heartbeat(c1, { ...beat })).toMatchObject({ kind: 'refused', code: 'credential-superseded' });
    expect(liveness.lastHeartbeatMs('c1')).toBe(lastHeartbeatMs);
  });

  test('refuses-a-join-token-that-was-made-by-a-clock-that-was-ahead, until-that-time-has-come', async () => {
    const { clock, plane, gateway } = await worldOf('c1');
    const hourMs = 3_600_000;
    // No HTTP edge looks at it here: the commit does.
    const secret = await plane.joinToken('c1', hourMs, 24 * hourMs);
    expect(await gateway.join(secret, { secret: SECRET })).toMatchObject({ kind: 'refused', code: 'join-token-early' });
    const other = await plane.joinToken('c1', hourMs, 60_000);
    expect(await gateway.join(other, { secret: SECRET })).toMatchObject({ kind: 'answer' });
    await clock.settle();
  });

  test('gives-the-view-again-to-one-that-did-not-get-the-last', async () => {
    const { clock, plane, gateway, identities } = await worldOf('c1');
    const [c1] = identities as [AgentIdentity];
    const request = await requestHavingView(gateway, c1);
    await plane.edit('c1', { physicalNetworks: ['p1'] });
    await requestHavingView(gateway, c1);
    await plane.edit('c1', { physicalNetworks: [] });
    await clock.settle();
    expect(answerOf(await gateway.view(c1, request))).toMatchObject({ kind: 'view', view: { digest: request.digest } });
    expect(gateway.waiterCount).toBe(0);
  });

  test('takes-no-agent-for-converged-before-its-report-is-committed', async () => {
    const { clock, plane, gateway, identities } = await worldOf('c1');
    const [c1] = identities as [AgentIdentity];
    const hasConverged = (): boolean => gateway.hasConverged('c1', plane.leader.journal.fleet.revision);
    gateway.heartbeat(c1, { serviceVersion: 4 });
    await clock.settle();
    const applied = (await requestHavingView(gateway, c1)).digest as string;
    gateway.heartbeat(c1, { serviceVersion: 4, applied });
    expect(hasConverged()).toBe(true);
    // Another agent is on it now, which does less with the same view.
    gateway.heartbeat(c1, { serviceVersion: 3, applied });
    expect(hasConverged()).toBe(false);
    await clock.settle();
    gateway.heartbeat(c1, { serviceVersion: 3, applied });
    expect(hasConverged()).toBe(true);
  });

  test.each(['bfdDownPeers', 'unheardPeers'])('believes-the-%s-of-a-host-only-while-it-is-connected', async (field) => {
    const { clock, plane, gateway, identities } = await worldOf('c1');
    const [c1] = identities as [AgentIdentity];
    const report = { facts: {}, strays: [], problems: [], [field]: ['c3'] };
    gateway.heartbeat(c1, { serviceVersion: 4, report });
    await clock.until('it is up', () => plane.host('c1')?.connection.state === 'up');
    expect([gateway.reports.bfdStatus('c1', 'c2'), gateway.reports.bfdStatus('c1', 'c3')]).toEqual(['up', 'down']);
    expect([gateway.reports.countBfdDown('c2'), gateway.reports.countBfdDown('c3')]).toEqual([0, 1]);
    await clock.until('it is silent', () => plane.host('c1')?.connection.state !== 'up');
    expect(gateway.reports.bfdStatus('c1', 'c2')).toBeUndefined();
  });

  test('wakes-only-the-host-whose-view-changed', async () => {
    const { clock, plane, gateway, identities } = await worldOf('c1', 'c2', 'c3');
    const woken: string[] = [];
    for (const identity of identities) {
      const request = await requestHavingView(gateway, identity);
      void gateway.view(identity, request).then(() => woken.push(identity.host));
    }
    expect(gateway.waiterCount).toBe(3);
    await plane.edit('c2', { zone: 'other' });
    await clock.settle();
    expect(woken).toEqual(['c2']);
    expect(gateway.waiterCount).toBe(2);
  });

  test('keeps-waiting-when-a-commit-touches-the-host-but-not-its-view', async () => {
    const { clock, plane, gateway, identities } = await worldOf('c1');
    const request = await requestHavingView(gateway, identities[0]!);
    let answered = false;
    void gateway.view(identities[0]!, request).then(() => (answered = true));
    await plane.edit('c1', { baseWeight: 7 });
    await clock.settle();
    expect({ answered, waiting: gateway.waiterCount }).toEqual({ answered: false, waiting: 1 });
    await clock.pass(26_000);
    expect(answered).toBe(true);
  });

  test('ends-an-earlier-wait-of-the-same-host', async () => {
    const { gateway, identities } = await worldOf('c1');
    const request = await requestHavingView(gateway, identities[0]!);
    const first = gateway.view(identities[0]!, request);
    void gateway.view(identities[0]!, request);
    expect(answerOf(await first)).toMatchObject({ kind: 'unchanged' });
    expect(gateway.waiterCount).toBe(1);
  });

  test('says-who-decides-to-those-who-wait-when-the-lease-goes-and-forgets-what-it-was-told', async () => {
    const { clock, plane, gateway, identities } = await worldOf('c1');
    gateway.heartbeat(identities[0]!, { serviceVersion: 0, report: { facts: {}, strays: [], problems: [] } });
    expect(gateway.reports.get('c1')).toBeDefined();
    const waiting = gateway.view(identities[0]!, await requestHavingView(gateway, identities[0]!));
    plane.leader.journal.stepDown();
    await clock.pass(1000);
    expect(await waiting).toMatchObject({ kind: 'elsewhere' });
    expect(gateway.reports.get('c1')).toBeUndefined();
    expect(gateway.heartbeat(identities[0]!, { serviceVersion: 0 })).toMatchObject({ kind: 'elsewhere' });
    expect(await gateway.join('whatever', { secret: SECRET })).toMatchObject({ kind: 'elsewhere' });
  });

  test('answers-a-view-of-an-older-epoch-at-once-with-the-same-digest', async () => {
    const { clock, plane, gateway, identities } = await worldOf('c1');
    const request = await requestHavingView(gateway, identities[0]!);
    plane.leader.journal.stepDown();
    await clock.until('it decides again', () => plane.hasLeader);
    const again = answerOf(await gateway.view(identities[0]!, request));
    expect(again).toMatchObject({ kind: 'view', view: { digest: request.digest } });
  });

  test('lets-no-agent-wait-once-it-is-closed', async () => {
    const { gateway, identities } = await worldOf('c1');
    const waiting = gateway.view(identities[0]!, await requestHavingView(gateway, identities[0]!));
    gateway.close();
    expect(await waiting).toEqual({ kind: 'elsewhere' });
    expect(await gateway.view(identities[0]!, {})).toEqual({ kind: 'elsewhere' });
  });

  test('does-not-listen-to-an-older-credential-nor-to-a-host-that-is-gone', async () => {
    const { plane, gateway, identities } = await worldOf('c1');
    await gateway.join(await plane.joinToken('c1'), { secret: `${SECRET}-2` });
    expect(gateway.heartbeat(identities[0]!, { serviceVersion: 1 })).toMatchObject({ code: 'credential-superseded' });
    expect(gateway.heartbeat({ host: 'c9', token: 'x' }, { serviceVersion: 1 })).toMatchObject({
      code: 'unknown-host',
    });
    expect(gateway.authenticate(secretText(identities[0]!.token!, SECRET), 'agent')).toMatchObject({ kind: 'refused' });
  });

  test('asks-for-an-answer-again-that-the-store-did-not-take', async () => {
    const { clock, plane, gateway, identities } = await worldOf('c1');
    gateway.heartbeat(identities[0]!, { serviceVersion: 1 });
    await clock.until('it has a task', () => plane.item('c1')?.step === 'preflight');
    const view = answerOf(await gateway.view(identities[0]!, {}));
    const task = view.kind === 'view' ? view.view.tasks[0]!.id : '';
    const { store } = plane.leader.journal;
    const { write } = store;
    store.write = () => Promise.reject(new StoreUnavailable('away', { outcome: 'failed' }));
    const observed = gateway.observe(identities[0]!, { answers: [{ task, outcome: 'done' }] });
    await clock.pass(5000);
    expect(answerOf(await observed).results).toEqual([{ task, result: 'not-taken' }]);
    store.write = write.bind(store);
    const again = await gateway.observe(identities[0]!, { answers: [{ task, outcome: 'done' }] });
    expect(answerOf(again).results).toEqual([{ task, result: 'recorded' }]);
  });

  test('takes-no-answer-to-an-earlier-try', async () => {
    const { clock, plane, gateway, identities } = await worldOf('c1');
    const beat = (): unknown => gateway.heartbeat(identities[0]!, { serviceVersion: 1 });
    beat();
    await clock.until('it has a task', () => plane.item('c1')?.step === 'preflight');
    const view = answerOf(await gateway.view(identities[0]!, {}));
    const task = view.kind === 'view' ? view.view.tasks[0]!.id : '';
    const observe = async (outcome: 'done' | 'failed'): Promise<unknown> =>
      answerOf(await gateway.observe(identities[0]!, { answers: [{ task, outcome }] })).results[0]?.result;
    expect(await observe('failed')).toBe('recorded');
    expect(await observe('done')).toBe('stale');
    await clock.until('it is tried again', () => {
      beat();
      return plane.item('c1')?.attempt === 2 && plane.item('c1')?.state === 'running';
    });
    expect(await observe('done')).toBe('stale');
    expect(plane.item('c1')?.step).toBe('preflight');
  });

  test('takes-no-answer-for-another-host', async () => {
    const { clock, plane, gateway, identities } = await worldOf('c1', 'c2');
    for (const identity of identities) gateway.heartbeat(identity, { serviceVersion: 1 });
    await clock.until('it has a task', () => plane.item('c1')?.step === 'preflight');
    const view = answerOf(await gateway.view(identities[0]!, {}));
    const task = view.kind === 'view' ? view.view.tasks[0]!.id : '';
    const observed = await gateway.observe(identities[1]!, { answers: [{ task, outcome: 'done' }] });
    expect(answerOf(observed).results).toEqual([{ task, result: 'stale' }]);
    expect(plane.item('c1')?.step).toBe('preflight');
  });
});

describe('waiters', () => {
  test('are-woken-by-name-by-time-and-all-at-once', async () => {
    const waiters = new LongPollWaiters();
    const woken: string[] = [];
    const wait = (host: string, untilMs: number): void => {
      void waiters.wait(host, untilMs).then((how) => woken.push(`${host} ${how}`));
    };
    wait('c1', 100);
    wait('c2', 200);
    wait('c3', 300);
    waiters.wake('c2');
    waiters.wake('nobody');
    waiters.expire(150);
    await Promise.resolve();
    expect(woken).toEqual(['c2 changed', 'c1 expired']);
    waiters.wakeAll();
    await Promise.resolve();
    expect(woken).toContain('c3 changed');
    expect(waiters.size).toBe(0);
  });

  test('end-in-time-also-behind-one-that-began-earlier-and-waits-longer', async () => {
    const waiters = new LongPollWaiters();
    const woken: string[] = [];
    for (const [host, untilMs] of [
      ['c1', 300],
      ['c2', 100],
      ['c3', 300],
      ['c4', 200],
    ] as const)
      void waiters.wait(host, untilMs).then((how) => woken.push(`${host} ${how}`));
    expect(waiters.size).toBe(4);
    waiters.expire(200);
    await Promise.resolve();
    expect(woken).toEqual(['c2 expired', 'c4 expired']);
    // A host that polls again from another place still has one wait only.
    void waiters.wait('c1', 250).then((how) => woken.push(`c1 again ${how}`));
    expect(waiters.size).toBe(2);
    waiters.expire(300);
    await Promise.resolve();
    expect(woken.slice(2).sort()).toEqual(['c1 again expired', 'c1 expired', 'c3 expired']);
  });
});
