// Two machines with the credential of one host, as after a disk was cloned: each continues and neither is refused, but it is detected. The alarm
// is tested beside its controller.
import { afterEach, expect, test, vi } from 'vitest';
import { HttpLink } from '../../src/agent/node/http-link.ts';
import { verifyEd25519 } from '../../src/agent/protocol/ed25519.ts';
import { TestHost } from '../../src/agent/node/agent-fixture.ts';
import type { Agent } from '../../src/agent/node/agent.ts';
import type { Disk } from '../../src/agent/node/ports.ts';
import { HttpPlane } from '../agent/http-plane.ts';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

const QUIET = { info: () => undefined, warn: () => undefined, error: () => undefined };
const WAIT = { timeout: 20_000, interval: 50 };

test('an agent of a cloned disk is noticed, one that is started anew is not', async () => {
  const plane = new HttpPlane();
  ends.push(() => plane.close());
  const { url, server } = await plane.listen('s1');
  await vi.waitFor(() => expect(plane.hasLeader).toBe(true), WAIT);
  await plane.register('c1');
  const token = await plane.joinToken('c1');
  const links: HttpLink[] = [];
  const machine = (): { readonly rack: TestHost; readonly start: (disk?: Disk) => Agent } => {
    const rack = new TestHost(plane, { name: 'c1', joinToken: () => Promise.resolve(token) });
    ends.push(async () => {
      await rack.stop();
      for (const link of links) link.close();
    });
    const start = (disk: Disk = rack.disk): Agent => {
      const link = new HttpLink();
      links.push(link);
      return rack.start({ link, disk, verify: verifyEd25519, log: QUIET }, { servers: [url], heartbeatMs: 50 });
    };
    return { rack, start };
  };
  const [first, clone] = [machine(), machine()];
  const shared = (): readonly string[] => [...server.gateway.shared.hosts()].map(([host]) => host);
  for (let times = 0; times < 4; times += 1) {
    await first.rack.stop();
    const agent = first.start();
    await vi.waitFor(() => expect(agent.status().applied).toBeDefined(), WAIT);
  }
  await vi.waitFor(() => expect(plane.host('c1')?.state).toBe('active'), WAIT);
  expect(shared()).toEqual([]);
  const cloned = clone.start(copyOf(first.rack.disk));
  await vi.waitFor(() => expect(shared()).toEqual(['c1']), WAIT);
  // Neither is refused: which of them is the host is for an operator to decide.
  expect([first.rack.agent?.status().refusal, cloned.status().refusal]).toEqual([undefined, undefined]);
});

/** What was on the disk when it was cloned, and what is written to the clone from then on. */
function copyOf(disk: Disk): Disk {
  const written = new Map<string, string>();
  return {
    read: async (name) => written.get(name) ?? (await disk.read(name)),
    write: (name, text) => {
      written.set(name, text);
      return Promise.resolve();
    },
  };
}
