// How a manager comes to its credential: over lost answers, refusals and restarts. No sockets.
import { expect, test } from 'vitest';
import { secretText } from '../../access/index.ts';
import { VirtualClock } from '../../journal/virtual-clock-fixture.ts';
import { CertificateKeeper, LeaderClient, LinkDown, type Reply } from '../../link/index.ts';
import { ManagerMembership } from './membership.ts';
import type { ManagerJoinRequest, ManagerJoinResponse } from './join-messages.ts';
import type { ManagerIdentity } from './manager-state-store.ts';

const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
const joinTokenOf = (id: string): string => secretText(id, 'j'.repeat(43));

class World {
  readonly clock = new VirtualClock();
  identity: ManagerIdentity = {};
  joinToken: string | undefined = joinTokenOf('tk-1');
  /** What was written before each request was sent. */
  readonly sent: { readonly secret: string; readonly written: ManagerIdentity }[] = [];
  answer: (request: ManagerJoinRequest) => Reply<ManagerJoinResponse> = () => ({
    kind: 'answer',
    answer: { manager: 'm1', token: 'tk-1.manager' },
  });
  #secrets = 0;

  start(manager = 'm1'): { readonly membership: ManagerMembership; readonly ended: Promise<void>; stop(): void } {
    const leader = new LeaderClient(['https://s1'], log);
    const store = { readCertificates: () => Promise.resolve([]), writeCertificate: () => Promise.resolve() };
    const common = { clock: this.clock, random: () => 0.5, log };
    const certificates = new CertificateKeeper(
      { link: { isAuthenticated: () => false }, ...common },
      { leader, store, program: 'manager' },
    );
    const ports = {
      ...common,
      link: {
        join: async (_to: unknown, _manager: string, request: ManagerJoinRequest) => {
          this.sent.push({ secret: request.secret, written: this.identity });
          return this.answer(request);
        },
      },
      store: {
        readIdentity: () => Promise.resolve(this.identity),
        writeIdentity: async (identity: ManagerIdentity) => void (this.identity = identity),
      },
      ids: { secret: () => `secret-${(this.#secrets += 1)}` },
    };
    const membership = new ManagerMembership(ports, {
      manager,
      leader,
      certificates,
      joinToken: () => Promise.resolve(this.joinToken),
    });
    const over = new AbortController();
    return { membership, ended: membership.run(over.signal), stop: () => over.abort() };
  }
}

const REFUSED = { kind: 'refused', code: 'join-token-used', message: 'used' } as const;

test('a-secret-is-written-down-before-it-is-sent, and-is-the-same-over-lost-answers-and-a-restart', async () => {
  const world = new World();
  const { answer } = world;
  world.answer = () => {
    throw new LinkDown('the answer is lost');
  };
  const first = world.start();
  await world.clock.pass(10_000);
  first.stop();
  await world.clock.pass(60_000);
  await first.ended;
  expect(first.membership.credential()).toBeUndefined();
  world.answer = answer;
  const second = world.start();
  await second.ended;
  expect(second.membership.credential()).toBe(secretText('tk-1.manager', 'secret-1'));
  expect(world.sent.length).toBeGreaterThan(2);
  for (const { secret, written } of world.sent) expect(written.pending).toEqual({ joinToken: 'tk-1', secret });
  expect(new Set(world.sent.map(({ secret }) => secret))).toEqual(new Set(['secret-1']));
});

test('it-joins-once: its-credential-is-there-after-a-restart, with-the-join-token-and-without', async () => {
  const world = new World();
  await world.start().ended;
  const { length } = world.sent;
  for (const token of [world.joinToken, undefined]) {
    world.joinToken = token;
    const { membership, ended } = world.start();
    await ended;
    expect(membership.credential()).toBe(secretText('tk-1.manager', 'secret-1'));
  }
  expect(world.sent).toHaveLength(length);
});

test('a-new-join-token-replaces-the-credential, and-one-that-is-refused-leaves-it', async () => {
  const world = new World();
  await world.start().ended;
  world.joinToken = joinTokenOf('tk-0');
  world.answer = () => REFUSED;
  const kept = world.start();
  await kept.ended;
  expect(kept.membership.credential()).toBe(secretText('tk-1.manager', 'secret-1'));
  world.joinToken = joinTokenOf('tk-2');
  world.answer = () => ({ kind: 'answer', answer: { manager: 'm1', token: 'tk-2.manager' } });
  const replaced = world.start();
  await replaced.ended;
  expect(replaced.membership.credential()).toBe(secretText('tk-2.manager', world.identity.current!.secret));
  expect(world.identity.current!.secret).not.toBe('secret-1');
});

test('without-a-credential-a-refusal-is-waited-out, and-the-folder-of-another-manager-is-no-credential', async () => {
  const world = new World();
  world.answer = () => REFUSED;
  const { membership, ended } = world.start();
  await world.clock.pass(30_000);
  expect(membership.credential()).toBeUndefined();
  world.joinToken = joinTokenOf('tk-3');
  world.answer = () => ({ kind: 'answer', answer: { manager: 'm1', token: 'tk-3.manager' } });
  await world.clock.pass(60_000);
  await ended;
  expect(membership.credential()).toBeDefined();

  world.joinToken = undefined;
  const other = world.start('m2');
  await world.clock.pass(30_000);
  expect(other.membership.credential()).toBeUndefined();
  other.stop();
  await world.clock.pass(60_000);
  await other.ended;
});
