import { expect, test } from 'vitest';
import { certificateText, hostFacts } from './host-text.ts';
import type { AgentCertificate, Host } from '../client/representations.ts';

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

const NOW_MS = Date.UTC(2030, 0, 15);
const DAY_MS = 24 * 3600 * 1000;

test.each<[Omit<AgentCertificate, 'host'>, string | undefined]>([
  [{ state: 'valid', expiresAtMs: NOW_MS + 20 * DAY_MS }, 'expires 2030-02-04 00:00 UTC (in 20d)'],
  [
    { state: 'renewal-overdue', expiresAtMs: NOW_MS + 3 * DAY_MS },
    'expires 2030-01-18 00:00 UTC (in 3d); its renewal is overdue: the log of the agent says why',
  ],
  [
    { state: 'renewal-overdue', expiresAtMs: NOW_MS - DAY_MS },
    'expired 2030-01-14 00:00 UTC (1d ago); its renewal is overdue: the log of the agent says why',
  ],
  [{ state: 'none' }, 'none: the agent showed none'],
  [{ state: 'not-seen' }, 'not seen: the agent has not polled since this server holds the lease'],
  [{ state: 'off' }, undefined],
])('the certificate of an agent, for people: %j', (certificate, text) => {
  expect(certificateText({ host: 'c1', ...certificate }, NOW_MS)).toBe(text);
});
