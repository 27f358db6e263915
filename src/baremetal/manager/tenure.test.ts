// The lease as the manager itself sees it: renewals that are late, lost or refused, by its own clock alone.
import { afterEach, describe, expect, test } from 'vitest';
import { VirtualClock } from '../../journal/virtual-clock-fixture.ts';
import { LeaderClient, LinkDown, type Reply } from '../../link/index.ts';
import type { LeaseResponse } from '../managers/messages.ts';
import type { ManagerLink } from './ports.ts';
import { ManagerTenure } from './tenure.ts';

type Said = Reply<LeaseResponse> | 'away' | 'never';

const LEASE: LeaseResponse = { leaseEpoch: 3, remainingMs: 15_000, renewMs: 5000 };
const HELD: Said = { kind: 'answer', answer: LEASE };
const refused = (code: string): Said => ({ kind: 'refused', code, message: code });
const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined };

const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

class World {
  readonly clock = new VirtualClock();
  readonly calls: string[] = [];
  readonly tenure: ManagerTenure;
  changes = 0;
  /** What registrations and renewals are answered; the last one for ever. */
  registers: Said[] = [HELD];
  renews: Said[] = [HELD];
  /** How long an answer takes. */
  delayMs = 0;

  constructor() {
    const { clock } = this;
    const none = (): Promise<never> => Promise.reject(new LinkDown('not here'));
    const link: ManagerLink = {
      register: () => this.#answer('register', this.registers),
      renew: () => this.#answer('renew', this.renews),
      release: async () => {
        this.calls.push('release');
        return { kind: 'answer', answer: { released: true } };
      },
      ...{ acquire: none, tasks: none, answer: none, reserve: none },
    };
    const ports = { link, clock, random: () => 0.5, log: SILENT, drivers: new Map() };
    const options = { name: 'm1', version: '1', holder: 'p1', servers: ['s1'], token: () => 'token' };
    this.tenure = new ManagerTenure(ports, options, new LeaderClient(['s1'], SILENT), () => {
      this.changes += 1;
    });
  }

  start(): this {
    const over = new AbortController();
    stops.push(() => over.abort());
    void this.tenure.run(over.signal);
    return this;
  }

  async #answer(call: string, script: Said[]): Promise<Reply<LeaseResponse>> {
    this.calls.push(call);
    const said = script.length > 1 ? (script.shift() as Said) : (script[0] as Said);
    if (this.delayMs > 0) await this.clock.sleep(this.delayMs);
    if (said === 'never') return new Promise(() => undefined);
    if (said === 'away') throw new LinkDown('away');
    return said;
  }
}

describe('the right to act', () => {
  test('begins with the registration and is renewed in time', async () => {
    const world = new World().start();
    await world.clock.pass(60_000);
    expect(world.tenure.mayAct()).toBe(true);
    expect(world.tenure.current).toEqual({ holder: 'p1', leaseEpoch: 3 });
    expect(world.calls).toEqual(['register', ...Array.from({ length: 12 }, () => 'renew')]);
    expect(world.changes).toBe(1);
  });

  test('ends 2 s before the lease may end, counted from the request', async () => {
    const world = new World();
    world.delayMs = 1000;
    world.renews = ['never'];
    world.start();
    await world.clock.until('it may act', () => world.tenure.mayAct());
    const { right } = world.tenure;
    await world.clock.pass(12_000 - 1);
    expect([world.tenure.mayAct(), right?.aborted]).toEqual([true, false]);
    await world.clock.pass(1);
    expect([world.tenure.mayAct(), right?.aborted, world.tenure.right]).toEqual([false, true, undefined]);
  });

  test('continues under the same lease when a late renewal is accepted: what was under way is aborted all the same', async () => {
    const world = new World();
    world.renews = Array.from({ length: 25 }, (): Said => 'away').concat(HELD);
    world.start();
    await world.clock.pass(1000);
    const { right } = world.tenure;
    await world.clock.until('it stops', () => !world.tenure.mayAct());
    expect(right?.aborted).toBe(true);
    await world.clock.until('it goes on', () => world.tenure.mayAct());
    expect(world.tenure.right?.aborted).toBe(false);
    expect(world.tenure.current?.leaseEpoch).toBe(3);
    expect(world.calls.filter((call) => call === 'register')).toHaveLength(1);
  });

  test('is over when the store refuses a renewal: it registers anew, under another lease', async () => {
    const world = new World();
    world.registers = [HELD, { kind: 'answer', answer: { ...LEASE, leaseEpoch: 4 } }];
    world.renews = [refused('lease-lost'), HELD];
    world.start();
    await world.clock.pass(1000);
    const { right } = world.tenure;
    await world.clock.until('it has another lease', () => world.tenure.current?.leaseEpoch === 4);
    expect([right?.aborted, world.tenure.right?.aborted]).toEqual([true, false]);
  });

  test('is never had by another process of the name: it repeats its request from time to time', async () => {
    const world = new World();
    world.registers = [refused('manager-name-taken')];
    world.start();
    await world.clock.pass(10_000);
    expect([world.tenure.mayAct(), world.tenure.current]).toEqual([false, undefined]);
    expect(world.calls.length).toBeGreaterThan(4);
    expect(world.calls.length).toBeLessThan(20);
    world.registers = [HELD];
    await world.clock.until('it may act', () => world.tenure.mayAct());
  });

  test('that the control plane doubts is looked at at once', async () => {
    const world = new World().start();
    await world.clock.pass(1000);
    world.tenure.doubt();
    await world.clock.pass(0);
    expect(world.calls).toEqual(['register', 'renew']);
  });

  test('is given back at the end', async () => {
    const world = new World().start();
    await world.clock.pass(1000);
    await world.tenure.release();
    expect(world.calls).toEqual(['register', 'release']);
    expect(world.tenure.mayAct()).toBe(false);
  });
});
