// Servers and agents one version apart: what each writes is what version 0.1.0 wrote, and both forms are read.
import { describe, expect, test } from 'vitest';
import { readDataplaneView } from './read-view.ts';
import { BFD_PART_ON_WIRE, phaseFromWire, phaseToWire, serviceFromWire, serviceToWire } from './wire-words.ts';
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

  test('is-shown-to-an-agent-as-one-of-the-version-before-knows-it', () => {
    expect(serviceToWire(present)).toEqual(onWire);
    expect(phaseToWire(phase)).toBe(former);
  });

  test('is-read-from-a-server-of-either-version', () => {
    for (const service of [onWire, present]) {
      expect(readDataplaneView('c1', { peers: [], services: [service] })?.services).toEqual([present]);
    }
    expect([former, phase].map((one) => phaseFromWire(one))).toEqual([phase, phase]);
  });
});

test('bfd-is-read-from-a-server-of-either-version', () => {
  const part = { everyMs: 100, peers: ['c2'] };
  expect(BFD_PART_ON_WIRE).toBe('heartbeats');
  for (const bfd of [{ bfd: part }, { [BFD_PART_ON_WIRE]: part }]) {
    expect(readDataplaneView('c1', { peers: [], services: [], ...bfd })?.bfd).toEqual({
      intervalMs: 100,
      peers: ['c2'],
    });
  }
});

test('a-service-that-is-not-handed-over-is-the-same-on-both-sides', () => {
  expect(serviceToWire(SERVICE)).toEqual(SERVICE);
  expect(serviceFromWire(SERVICE)).toEqual(SERVICE);
});
