// A wall clock that jumps by hours or days under a live server: nothing that was acknowledged is done again.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { PORT } from '../../src/network/index.ts';
import { prepared, type Prepared } from '../api/every-route.ts';

const HOUR_MS = 3600 * 1000;

let asked: Prepared;
beforeEach(async () => {
  asked = await prepared();
});
afterEach(() => asked.world.close());

const jumps = [1, 25, 240].map((hours) => [`${hours} h ahead`, hours * HOUR_MS] as const);

describe('never: a repeated request is carried out twice because the clock went', () => {
  test.each(jumps)('%s', async (_name, byMs) => {
    const { world } = asked;
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
