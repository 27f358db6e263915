import { describe, expect, test } from 'vitest';
import type { PacketOut } from './openflow/mods.ts';
import { probeNeighbours, resolveNeighbours, type NeighbourResolution } from './tunnel-neighbours-driver.ts';

/** A switch that knows some neighbours, and learns of others when packets are to be sent to them. */
class Underlay implements NeighbourResolution {
  readonly known: Set<string>;
  readonly queried: string[] = [];
  sleeps = 0;
  readonly clock = {
    nowMs: () => 0,
    turn: () => Promise.resolve(),
    sleep: async () => void (this.sleeps += 1),
  };
  readonly control = {
    neighbours: async () => [...this.known].map((address) => ({ address, mac: '02:00:00:00:00:01', bridge: 'br-phy' })),
  };
  readonly #answers: boolean;

  constructor(known: readonly string[], answers = true) {
    this.known = new Set(known);
    this.#answers = answers;
  }

  readonly send = async (packets: readonly PacketOut[]): Promise<void> => {
    for (const { actions } of packets) {
      const [, address = ''] = /set_field:([^>]+)->tun_(?:ipv6_)?dst/.exec(actions) ?? [];
      this.queried.push(address);
      if (this.#answers) this.known.add(address);
    }
  };
}

describe('neighbours in the underlay', () => {
  test('those-that-are-not-known-are-asked-for, and-waited-for-until-they-are', async () => {
    const underlay = new Underlay(['172.16.0.2']);
    await resolveNeighbours(['172.16.0.2', '172.16.0.3', 'fd00::4'], underlay);
    expect(underlay.queried).toEqual(['172.16.0.3', 'fd00::4']);
    expect(underlay.sleeps).toBe(1);
  });

  test('one-that-never-answers-is-not-waited-for-for-ever', async () => {
    const underlay = new Underlay([], false);
    await resolveNeighbours(['172.16.0.3'], underlay);
    expect(underlay.queried).toEqual(['172.16.0.3']);
    expect(underlay.sleeps).toBe(10);
  });

  test('a-request-alone-waits-for-nothing', async () => {
    const underlay = new Underlay(['172.16.0.2'], false);
    await probeNeighbours(['172.16.0.2', '172.16.0.3'], underlay);
    expect([underlay.queried, underlay.sleeps]).toEqual([['172.16.0.3'], 0]);
    await probeNeighbours([], underlay);
    expect(underlay.queried).toHaveLength(1);
  });
});
