// What every link does, whatever it is made of. The world behind it has two servers, of which the first decides, and one
// registered host.
import { describe, expect, onTestFinished, test } from 'vitest';
import { revokeTokenChange, secretText } from '../../src/access/index.ts';
import { SERVICE, type Service } from '../../src/election/index.ts';
import { anyWhy } from '../../src/election/why-fixture.ts';
import { idOf, put, type Change } from '../../src/fleet/index.ts';
import { accept } from '../../src/journal/index.ts';
import { DEPOSIT_MAX } from '../../src/agent/protocol/messages.ts';
import type { TestControlPlane } from '../../src/agent/server/control-plane-fixture.ts';
import type { AgentLink } from '../../src/agent/node/ports.ts';
import { LinkDown, type Reply } from '../../src/link/call.ts';

export interface LinkFixture {
  readonly plane: TestControlPlane;
  readonly link: AgentLink;
  /** Addresses of the server that decides, of one that does not, and of none. */
  readonly holder: string;
  readonly other: string;
  readonly unreachable: string;
  readonly close: () => Promise<void>;
}

const SECRET = `agents-own-${'s'.repeat(40)}`;

const COPY = { service: 'nat:edge', operation: 'op', phase: 'syncing' } as const;
/** The longest there are. */
const line = (nth: number): string =>
  `udp fd00:aaaa:bbbb:cccc:dddd:eeee:ffff:${(0x1000 + nth).toString(16).slice(-4)} ${nth} fd00:aaaa:bbbb:cccc:dddd:eeee:ffff:ffff 65535 fd00:aaaa:bbbb:cccc:dddd:eeee:ffff:fffe 65535`;

const NAT: Service = {
  type: 'nat',
  subject: 'edge',
  exclusion: 'soft',
  onControlLoss: 'move',
  epoch: 1,
  changedBy: 'test',
  changedAtMs: 0,
};

/** A service whose connections are copied. */
function seeding(from: string, to: string): Change {
  const why = anyWhy();
  const handover = { operation: 'op', from, to, phase: 'syncing' as const, why, sinceMs: 0 };
  return put(SERVICE, idOf(SERVICE, 'nat:edge'), { ...NAT, designated: { host: from, sinceMs: 0 }, handover });
}

interface Joined extends LinkFixture {
  readonly session: { readonly server: string; readonly secret: string };
}

export function linkContract(name: string, make: () => Promise<LinkFixture>): void {
  const worldOf = async (): Promise<LinkFixture> => {
    const world = await make();
    onTestFinished(async () => {
      await world.close();
      expect(world.plane.violations).toEqual([]);
    });
    return world;
  };

  const joined = async (): Promise<Joined> => {
    const world = await worldOf();
    const { link, plane, holder } = world;
    const { token } = answerOf(
      await link.join({ server: holder, secret: await plane.joinToken('c1') }, { secret: SECRET }),
    );
    return { ...world, session: { server: holder, secret: secretText(token, SECRET) } };
  };

  const signal = AbortSignal.timeout(60_000);

  describe(`the ${name} link`, () => {
    test('joins-and-joins-again-with-the-same-secret-only', async () => {
      const { link, plane, holder } = await worldOf();
      const to = { server: holder, secret: await plane.joinToken('c1') };
      const first = answerOf(await link.join(to, { secret: SECRET, host: 'c1' }));
      expect(first.host).toBe('c1');
      expect(plane.host('c1')?.credential).toBe(first.token);
      const tokens = plane.tokens('c1');
      expect(answerOf(await link.join(to, { secret: SECRET, host: 'c1' }))).toEqual(first);
      expect(await link.join(to, { secret: `${SECRET}-other` })).toMatchObject({ code: 'join-token-used' });
      expect(plane.tokens('c1')).toEqual(tokens);
    });

    test('refuses-a-join-that-is-not-what-the-token-is-for', async () => {
      const { link, plane, holder } = await worldOf();
      const to = { server: holder, secret: await plane.joinToken('c1') };
      expect(await link.join(to, { secret: SECRET, host: 'c2' })).toMatchObject({ code: 'join-token-other-host' });
      const wrong = { server: holder, secret: secretText('tk-none', SECRET) };
      expect(await link.join(wrong, { secret: SECRET })).toMatchObject({ kind: 'refused' });
      expect(plane.host('c1')?.credential).toBeUndefined();
    });

    test('carries-heartbeats-and-requests-a-report-until-it-has-one', async () => {
      const { link, plane, session } = await joined();
      const beat = { serviceVersion: 1, applied: 'digest' };
      expect(answerOf(await link.heartbeat(session, beat)).report).toBe('wanted');
      // What it says that it applied counts once its version is written down.
      await plane.leader.journal.idle();
      const report = { facts: { cpus: 8 }, strays: ['vm-7'], problems: ['no space left'] };
      expect(answerOf(await link.heartbeat(session, { ...beat, report })).report).toBe('known');
      expect(answerOf(await link.heartbeat(session, beat)).report).toBe('known');
      expect(plane.leader.gateway.reports.get('c1')).toEqual({ applied: 'digest', report });
      expect(plane.leader.liveness.lastHeartbeatMs('c1')).toBeDefined();
    });

    test('says-with-every-heartbeat-what-else-the-server-takes', async () => {
      const { link, session } = await joined();
      const takes = { readiness: 'per-service', features: ['conditions', 'process', 'bfd-down-peers'] };
      const beat = { serviceVersion: 1 };
      expect(answerOf(await link.heartbeat(session, beat))).toEqual({ report: 'wanted', ...takes });
      const report = { facts: {}, strays: [], problems: [] };
      expect(answerOf(await link.heartbeat(session, { ...beat, report }))).toEqual({ report: 'known', ...takes });
    });

    test('commits-a-new-version-once-and-heartbeats-never', async () => {
      const { link, plane, session } = await joined();
      await link.heartbeat(session, { serviceVersion: 7 });
      await plane.leader.journal.idle();
      expect(plane.host('c1')?.serviceVersion).toBe(7);
      const versions = (): number => plane.host('c1')?.changedAtMs ?? 0;
      const before = versions();
      for (let beat = 0; beat < 10; beat += 1) await link.heartbeat(session, { serviceVersion: 7 });
      await plane.leader.journal.idle();
      expect(versions()).toBe(before);
    });

    test('refuses-whom-it-does-not-know', async () => {
      const { link, session } = await joined();
      const other = { ...session, secret: `${session.secret}-other` };
      const none = { ...session, secret: 'nonsense' };
      for (const to of [other, none]) {
        expect(await link.heartbeat(to, { serviceVersion: 1 })).toMatchObject({ kind: 'refused' });
        expect(await link.view(to, {}, signal)).toMatchObject({ kind: 'refused' });
        expect(await link.observe(to, { answers: [done('x:y:1')] })).toMatchObject({ kind: 'refused' });
      }
    });

    test('notifies-a-removed-host', async () => {
      const { link, plane, session } = await joined();
      await plane.edit('c1', { connection: { state: 'up', sinceMs: 0 } });
      for (const state of ['active', 'draining', 'drained', 'finalizing', 'removed'] as const)
        await plane.edit('c1', { state });
      const refusal = { kind: 'refused', code: 'host-removed' };
      expect(await link.heartbeat(session, { serviceVersion: 1 })).toMatchObject(refusal);
      expect(await link.view(session, {}, signal)).toMatchObject(refusal);
      expect(await link.observe(session, { answers: [done('x:y:1')] })).toMatchObject(refusal);
    });

    test('notifies-a-host-that-was-removed-with-its-credential', async () => {
      const { link, plane, session } = await joined();
      await plane.edit('c1', { connection: { state: 'up', sinceMs: 0 } });
      for (const state of ['active', 'draining', 'drained', 'finalizing', 'removed'] as const)
        await plane.edit('c1', { state });
      await plane.commit(() =>
        accept(
          plane.tokens('c1').map((token) => revokeTokenChange(token, 'test', 1)),
          null,
        ),
      );
      const refusal = { kind: 'refused', code: 'host-removed' };
      expect(await link.heartbeat(session, { serviceVersion: 1 })).toMatchObject(refusal);
      // Whoever does not know the secret learns nothing of the host.
      const other = { ...session, secret: `${session.secret}-other` };
      expect(await link.heartbeat(other, { serviceVersion: 1 })).not.toMatchObject(refusal);
    });

    test('brings-the-whole-view-at-once-to-one-that-has-none', async () => {
      const { link, plane, session } = await joined();
      const answer = answerOf(await link.view(session, {}, signal));
      const { journal } = plane.leader;
      expect(answer).toMatchObject({
        kind: 'view',
        view: {
          host: 'c1',
          stamp: { journalId: journal.journalId, leaseEpoch: journal.fence?.epoch },
          parts: { self: { site: 'central', state: 'joining' } },
        },
      });
    });

    test('brings-a-view-in-the-words-that-the-agent-knows', async () => {
      const { link, plane, session } = await joined();
      await plane.register('c2');
      await plane.commit(() => accept([seeding('c1', 'c2')], null));
      const present = answerOf(await link.view(session, { words: 'glossary' }, signal));
      expect(present).toMatchObject({ view: { parts: { services: [{ handover: { phase: 'syncing' } }] } } });
      const former = answerOf(await link.view(session, {}, signal));
      expect(former).toMatchObject({ view: { parts: { services: [{ handOver: { phase: 'seeding' } }] } } });
    });

    test('says-unchanged-when-the-wait-is-over', async () => {
      const { link, session } = await joined();
      const have = await viewOf(link, session);
      expect(answerOf(await link.view(session, { ...have, waitMs: 20 }, signal))).toMatchObject({ kind: 'unchanged' });
    });

    test('brings-a-change-to-one-that-waits-for-it', async () => {
      const { link, plane, session } = await joined();
      const have = await viewOf(link, session);
      const waiting = link.view(session, have, signal);
      await expect.poll(() => plane.leader.gateway.waiterCount).toBe(1);
      await plane.edit('c1', { zone: 'other' });
      expect(answerOf(await waiting)).toMatchObject({ kind: 'view', view: { parts: { self: { zone: 'other' } } } });
    });

    test('ends-a-wait-that-is-aborted', async () => {
      const { link, plane, session } = await joined();
      const stopping = new AbortController();
      const waiting = link.view(session, await viewOf(link, session), stopping.signal);
      await expect.poll(() => plane.leader.gateway.waiterCount).toBe(1);
      stopping.abort();
      await expect(waiting).rejects.toThrow(LinkDown);
      await expect(link.view(session, {}, stopping.signal)).rejects.toThrow(LinkDown);
    });

    test('records-an-answer-once', async () => {
      const { link, plane, session } = await joined();
      await link.heartbeat(session, { serviceVersion: 1 });
      await expect.poll(() => plane.item('c1')?.step, { timeout: 20_000 }).toBe('preflight');
      const view = answerOf(await link.view(session, {}, signal));
      const task = view.kind === 'view' ? (view.view.tasks[0]?.id ?? '') : '';
      const answers = [done(task), done('op-none.c1:preflight:1'), done('nonsense')];
      expect(answerOf(await link.observe(session, { answers })).results).toEqual([
        { task, result: 'recorded' },
        { task: 'op-none.c1:preflight:1', result: 'stale' },
        { task: 'nonsense', result: 'stale' },
      ]);
      expect(answerOf(await link.observe(session, { answers: [done(task)] })).results).toEqual([
        { task, result: 'stale' },
      ]);
      await expect.poll(() => plane.host('c1')?.state).toBe('active');
    });

    test('carries-connections-from-one-host-to-the-next-and-as-many-as-there-may-be', async () => {
      const { link, plane, session, holder, other } = await joined();
      await plane.register('c2');
      const join = { server: holder, secret: await plane.joinToken('c2') };
      const second = {
        server: holder,
        secret: secretText(answerOf(await link.join(join, { secret: SECRET })).token, SECRET),
      };
      await plane.commit(() => accept([seeding('c1', 'c2')], null));
      const waiting = link.collect(second, COPY, signal);
      const connections = Array.from({ length: DEPOSIT_MAX }, (_, nth) => line(nth));
      const deposit = { ...COPY, connections, inAll: 60_000 };
      expect(answerOf(await link.deposit(session, deposit))).toEqual({ kept: DEPOSIT_MAX });
      expect(answerOf(await waiting)).toEqual({ kind: 'connections', connections, inAll: 60_000 });
      // Neither end is the other one.
      expect(await link.collect(session, COPY, signal)).toMatchObject({ kind: 'refused', code: 'not-copied-now' });
      expect(await link.deposit(second, deposit)).toMatchObject({ kind: 'refused', code: 'not-copied-now' });
      const elsewhere = { ...second, server: other };
      await expect
        .poll(() => link.collect(elsewhere, COPY, signal), { timeout: 20_000 })
        .toMatchObject({ kind: 'elsewhere', holder });
    });

    test('answers-not-yet-and-ends-a-wait-for-connections', async () => {
      const { link, plane, session } = await joined();
      await plane.register('c2');
      await plane.commit(() => accept([seeding('c2', 'c1')], null));
      expect(answerOf(await link.collect(session, { ...COPY, waitMs: 20 }, signal))).toEqual({ kind: 'not-yet' });
      const stopping = new AbortController();
      const waiting = link.collect(session, COPY, stopping.signal);
      stopping.abort();
      await expect(waiting).rejects.toThrow(LinkDown);
    });

    test('is-redirected-by-a-server-that-does-not-decide-to-the-one-that-does', async () => {
      const { link, plane, session, holder, other } = await joined();
      await expect
        .poll(() => followers(plane).every((revision) => revision === plane.leader.journal.fleet.revision))
        .toBe(true);
      const there = { kind: 'elsewhere', holder };
      const to = { ...session, server: other };
      await expect.poll(() => link.heartbeat(to, { serviceVersion: 1 }), { timeout: 20_000 }).toMatchObject(there);
      expect(await link.view(to, {}, signal)).toMatchObject(there);
      expect(await link.observe(to, { answers: [done('x:y:1')] })).toMatchObject(there);
      const token = await plane.joinToken('c1');
      // A join is forwarded between servers: an agent that has not joined trusts no server yet.
      await expect
        .poll(async () => (await link.join({ server: other, secret: token }, { secret: SECRET })).kind)
        .toMatch(/^(elsewhere|answer)$/);
    });

    test('is-down-when-no-server-answers', async () => {
      const { link, session, unreachable } = await joined();
      for (const server of [unreachable, 'not an address']) {
        const to = { ...session, server };
        await expect(link.heartbeat(to, { serviceVersion: 1 })).rejects.toThrow(LinkDown);
        await expect(link.view(to, {}, signal)).rejects.toThrow(LinkDown);
      }
    });
  });
}

function answerOf<A>(reply: Reply<A>): A {
  if (reply.kind !== 'answer') throw new Error(`no answer but ${JSON.stringify(reply)}`);
  return reply.answer;
}

async function viewOf(link: AgentLink, session: Joined['session']): Promise<{ digest: string; leaseEpoch: number }> {
  const answer = answerOf(await link.view(session, {}, AbortSignal.timeout(60_000)));
  if (answer.kind !== 'view') throw new Error('no view');
  return { digest: answer.view.digest, leaseEpoch: answer.view.stamp.leaseEpoch };
}

function followers(plane: TestControlPlane): number[] {
  return [...plane.reachable.values()].map(({ journal }) => journal.fleet.revision);
}

const done = (task: string): { readonly task: string; readonly outcome: 'done' } => ({ task, outcome: 'done' });
