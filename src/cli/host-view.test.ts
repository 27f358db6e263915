import { expect, test } from 'vitest';
import { hostFacts, type Host } from './host-view.ts';

test('hosts show tells which service a host cannot provide yet, and why', () => {
  const host = {
    name: 'c2',
    capacity: { vcpus: 1, memoryMiB: 1024, diskGiB: 1, ratios: {} },
    connection: { state: 'up', sinceMs: 0 },
    aggregates: [],
    traits: [],
    physicalNetworks: [],
    unready: [{ service: 'nat:r1', because: 'next hop 203.0.113.1 does not answer', operation: 'op-7' }],
  } as unknown as Host;
  expect(hostFacts(host, 1000)).toContainEqual([
    'Not ready',
    'nat:r1: next hop 203.0.113.1 does not answer (op-7 waits)',
  ]);
});
