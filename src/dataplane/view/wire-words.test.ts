// Servers and agents one version apart: views are written in the words of today or in those of version 0.1.0, and both are read.
import { describe, expect, test } from 'vitest';
import { readDataplaneView } from './read-view.ts';
import { hasFormerWords, partsToFormer, phaseToFormer, readPhase } from './wire-words.ts';
import type { ServiceView } from './dataplane-view.ts';

const SERVICE = { id: 'nat:r1', type: 'nat', epoch: 3, role: 'designated', subnets: [] } as const;
const PHASES = [
  ['preparing', 'preparing'],
  ['syncing', 'seeding'],
  ['switched', 'switched'],
  ['retiring', 'retiring'],
  ['resyncing', 'reseeding'],
  ['draining', 'draining'],
] as const;

describe.each(PHASES)('a service in the phase %s', (phase, former) => {
  const present: ServiceView = { ...SERVICE, handover: { phase, operation: 'op', other: 'c2' } };
  const onWire = { ...SERVICE, handOver: { phase: former, operation: 'op', other: 'c2' } };

  test('is-written-for-an-agent-of-0.1.0-as-that-knows-it', () => {
    expect(partsToFormer({ services: [present] })).toEqual({ services: [onWire] });
    expect(phaseToFormer(phase)).toBe(former);
  });

  test('is-read-from-a-server-of-either-version', () => {
    for (const service of [onWire, present]) {
      expect(readDataplaneView('c1', { peers: [], services: [service] })?.services).toEqual([present]);
    }
    expect([former, phase].map((one) => readPhase(one))).toEqual([phase, phase]);
  });

  test('shows-in-which-words-its-view-is', () => {
    expect([onWire, present].map((service) => hasFormerWords({ services: [SERVICE, service] }))).toEqual([true, false]);
  });
});

test('bfd-is-written-and-read-in-either-words', () => {
  const present = { bfd: { intervalMs: 100, peers: ['c2'] } };
  const former = { heartbeats: { everyMs: 100, peers: ['c2'] } };
  expect(partsToFormer(present)).toEqual(former);
  for (const parts of [present, former]) {
    expect(readDataplaneView('c1', { peers: [], services: [], ...parts })?.bfd).toEqual(present.bfd);
  }
});

test('what-has-no-former-words-is-the-same-for-both', () => {
  const parts = { self: { state: 'active' }, peers: [], services: [SERVICE], networks: { domains: [], routers: [] } };
  expect(partsToFormer(parts)).toEqual(parts);
  expect(partsToFormer({ self: {} })).toEqual({ self: {} });
  expect(readDataplaneView('c1', parts)?.services).toEqual([SERVICE]);
});
