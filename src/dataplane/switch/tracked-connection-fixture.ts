// Connections for tests: each number is another one, and all of them are seen outside with one address.
import type { TrackedConnection } from './switch.ts';

export function connectionOf(protocol: TrackedConnection['protocol'], nth: number): TrackedConnection {
  const [ends, ip] = [{ src: `10.0.0.${10 + nth}`, dst: '203.0.113.9' }, '198.51.100.7'];
  // An echo keeps its number outside.
  if (protocol === 'icmp')
    return { protocol, ...ends, id: 100 + nth, type: 8, code: 0, natSource: { ip, port: 100 + nth } };
  return { protocol, ...ends, sport: 4000 + nth, dport: 53, natSource: { ip, port: 20_000 + nth } };
}
