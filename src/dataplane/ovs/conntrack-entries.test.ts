import { describe, expect, test } from 'vitest';
import type { ConntrackEntry } from './unixctl/conntrack.ts';
import { connectionKey, hasSameNatSource, conntrackPacketOut, toTrackedConnections } from './conntrack-entries.ts';

const ORIGINAL = { src: '10.0.0.2', dst: '198.51.100.1', sport: 5000, dport: 7 };
const REPLY = { src: '198.51.100.1', dst: '198.51.100.9', sport: 7, dport: 6000 };
const udp: ConntrackEntry = { protocol: 'udp', original: ORIGINAL, reply: REPLY, zone: 7, timeoutS: 30 };
const tcp: ConntrackEntry = { ...udp, protocol: 'tcp', state: 'ESTABLISHED', timeoutS: 3 };
const ECHO = { src: '10.0.0.2', dst: '198.51.100.1', id: 9, type: 8, code: 0 };

describe('connections of a real switch', () => {
  test('established-ones-come-first, and-those-that-are-over-or-not-translated-are-left-out', () => {
    const over: ConntrackEntry = { ...tcp, state: 'TIME_WAIT' };
    const plain: ConntrackEntry = { ...udp, reply: { ...REPLY, dst: ORIGINAL.src } };
    expect(toTrackedConnections([udp, over, plain, tcp])).toEqual([
      { protocol: 'tcp', ...ORIGINAL, natSource: { ip: '198.51.100.9', port: 6000 } },
      { protocol: 'udp', ...ORIGINAL, natSource: { ip: '198.51.100.9', port: 6000 } },
    ]);
  });

  test('a-seed-keeps-the-address-and-the-port-outside', () => {
    const [one] = toTrackedConnections([udp]);
    expect(conntrackPacketOut(7, one!)?.actions).toBe('ct(commit,zone=7,nat(src=198.51.100.9:6000))');
    const echo: ConntrackEntry = {
      protocol: 'icmp',
      original: ECHO,
      reply: { ...ECHO, src: ECHO.dst, dst: '198.51.100.9', type: 0 },
      zone: 7,
    };
    const [ping] = toTrackedConnections([echo]);
    expect(conntrackPacketOut(7, ping!)?.actions).toBe('ct(commit,zone=7,nat(src=198.51.100.9))');
  });

  test('the-same-connection-has-the-same-key-whatever-it-is-seen-as', () => {
    const [one] = toTrackedConnections([udp]);
    const [moved] = toTrackedConnections([{ ...udp, reply: { ...REPLY, dport: 6001 } }]);
    expect(connectionKey(one!)).toBe(connectionKey(moved!));
    expect(hasSameNatSource(one!, moved!)).toBe(false);
  });
});
