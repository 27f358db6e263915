// A wall clock that jumps by hours or days under a live server: nothing that was acknowledged is done again.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { PORT } from '../../src/network/index.ts';
import { prepareServer, type PreparedServer } from '../api/every-route.ts';

const HOUR_MS = 3600 * 1000;

let prepared: PreparedServer;
beforeEach(async () => {
  prepared = await prepareServer();
});
afterEach(() => prepared.world.close());

const jumps = [1, 25, 240].map((hours) => [`${hours} h ahead`, hours * HOUR_MS] as const);

describe('never: a repeated request is carried out twice because the clock went', () => {
  test.each(jumps)('%s', async (_name, byMs) => {
    const { world } = prepared;
    const operator = await world.token('operator');
    const ports = (): number => [...world.journal.fleet.all(PORT)].length;
    const ask = () =>
      world.call(operator, {
        ...{ method: 'POST' as const, url: '/api/v1/ports', payload: { network: 'lan' } },
        headers: { 'idempotency-key': 'once' },
      });
    const first = await ask();
    expect(first.statusCode).toBe(201);
    const made = ports();
    world.clock.ahead(byMs);
    const again = await ask();
    expect([again.statusCode, again.json<{ id: string }>().id]).toEqual([201, first.json<{ id: string }>().id]);
    expect(ports()).toBe(made);
  });
});

describe('never: a token is good for longer than its lifetime because the clock was ahead when it was made', () => {
  const day = 24 * HOUR_MS;

  test('of an operator: it does not count before it was made, and not after its lifetime', async () => {
    const { world } = prepared;
    world.clock.ahead(day);
    const expiresAtMs = world.clock.nowMs() + HOUR_MS;
    const admin = await world.token('admin');
    const payload = { name: 'ahead', role: 'operator', expiresAtMs };
    const made = await world.call(admin, { method: 'POST', url: '/api/v1/tokens', payload });
    const { secret } = made.json<{ secret: string }>();
    const ask = async (): Promise<unknown> => {
      const answer = await world.call(secret, { url: '/api/v1/hosts' });
      return answer.statusCode === 200 ? 200 : answer.json<{ code: string }>().code;
    };
    expect(await ask()).toBe(200);
    // Put right.
    world.clock.ahead(-day);
    expect(await ask()).toBe('token-early');
    // Whoever has no lifetime is not shut out by a clock.
    expect((await world.call(admin, { url: '/api/v1/hosts' })).statusCode).toBe(200);
    world.clock.ahead(day);
    expect(await ask()).toBe(200);
    world.clock.ahead(HOUR_MS);
    expect(await ask()).toBe('token-expired');
  });

  test('of a host that joins', async () => {
    const { world } = prepared;
    const operator = await world.token('operator');
    const hosts = { method: 'POST' as const, url: '/api/v1/hosts', payload: { hosts: [{ name: 'late' }] } };
    expect((await world.call(operator, hosts)).statusCode).toBeLessThan(300);
    world.clock.ahead(day);
    const made = await world.call(operator, { method: 'POST', url: '/api/v1/hosts/late/join-token', payload: {} });
    const { secret } = made.json<{ secret: string }>();
    const payload = { secret: 'x'.repeat(43) };
    const join = async (): Promise<unknown> => {
      const answer = await world.call(secret, { method: 'POST', url: '/api/v1/agent/join', payload });
      return answer.statusCode === 200 ? 200 : answer.json<{ code: string }>().code;
    };
    world.clock.ahead(-day);
    expect(await join()).toBe('token-early');
    // Clocks of several servers differ by seconds.
    world.clock.ahead(day - 60_000);
    expect(await join()).toBe(200);
  });
});
