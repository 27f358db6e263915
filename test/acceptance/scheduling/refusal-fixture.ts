// The fleet on which requests are refused: networks of several forms; and the form of a refusal.
import { expect } from 'vitest';
import type { Refusal } from '../../../src/fleet/index.ts';
import { AcceptanceWorld } from '../world-fixture.ts';

/** A routed network `n`, a plain one `p`, and other projects' resources. */
export async function startConnectedWorld(): Promise<AcceptanceWorld> {
  const world = await AcceptanceWorld.empty();
  await world.net('n');
  await world.segment('seg0', 'n');
  await world.segment('seg2', 'n');
  await world.subnet('sub0', 'n', '10.0.0.0/24', { segment: 'seg0' });
  await world.subnet('sub2', 'n', '10.2.0.0/24', { segment: 'seg2' });
  await world.net('p');
  await world.subnet('subp', 'p', '10.1.0.0/29', { pools: [{ first: '10.1.0.2', last: '10.1.0.3' }] });
  await world.userPort('mine', 'n');
  return world;
}

/** A sentence for a person. */
export function expectSentence({ message }: Refusal): void {
  expect(message).toMatch(/^[A-Z0-9"].{20,}\.$/);
}
