// Requirements beside amounts and attributes: bandwidth without a physical network, devices, and a host's service version.
import { describe, expect, test } from 'vitest';
import type { NicRequirements } from '../network/index.ts';
import { prepareRequest } from './search/prepared-request.ts';
import { reportSentences } from './report/sentences.ts';
import { schedule, composeClaim } from './schedule.ts';
import { choice, claim, commit, host, newFleet, nic, request, segment } from './scheduler-fixture.ts';
import type { ScheduleRequest } from './request.ts';
import type { Fleet } from '../fleet/index.ts';

/** Places this many, one after the other, and returns why the last one failed. */
function placeUntilFull(fleet: Fleet, requested: ScheduleRequest): (string | undefined)[] {
  const hosts: (string | undefined)[] = [];
  for (;;) {
    const answer = schedule(fleet, requested);
    if (answer.kind === 'none') return [...hosts, ...reportSentences(answer.report)];
    hosts.push(answer.host);
    commit(fleet, claim(`i${hosts.length}`, answer.host, composeClaim(requested, answer)));
  }
}

describe('bandwidth without a physical network', () => {
  const plain: NicRequirements = { network: 'n', choices: [{ pool: 'network:n', takes: [] }], minBandwidthKbps: 400 };

  test('never: more is claimed than the host has', () => {
    const fleet = newFleet(
      host('a', { resources: { 'bandwidth-kbps': 1000 } }),
      host('b', { resources: { 'bandwidth-kbps:p-s0': 9000 } }),
    );
    expect(placeUntilFull(fleet, request({ nics: [plain] }))).toEqual([
      'a',
      'a',
      '2 of 2 hosts: too little bandwidth for network n: 400 kbit/s requested.',
    ]);
  });

  test('the claim takes it, in the class of the pool that was chosen', () => {
    const requested = request({ nics: [plain, plain, { ...nic('m', choice('s0')), minBandwidthKbps: 70 }] });
    const chosen = { host: 'a', pools: ['network:n', 'network:n', 'segment:s0'] as const };
    expect(composeClaim(requested, chosen).resources).toEqual({ 'bandwidth-kbps': 800, 'bandwidth-kbps:p-s0': 70 });
  });

  test('a tunnel asks for it, a segment on a physical network asks there', () => {
    const tunnel = { pool: 'segment:t', takes: [] } as const;
    const resources = { 'bandwidth-kbps': 400, 'bandwidth-kbps:p-s0': 400 };
    const fleet = newFleet(...segment('s0', 'n', 5), host('a', { resources, physicalNetworks: ['p-s0'] }));
    const requested = request({ nics: [{ network: 'n', choices: [tunnel, choice('s0')], minBandwidthKbps: 400 }] });
    expect(placeUntilFull(fleet, requested)).toHaveLength(3);
  });
});

describe('PCI requests', () => {
  const device = { ...nic('n', { pool: 'network:n', takes: [] }), pciRequest: 'gold' };

  test('never: a device is claimed twice', () => {
    const resources = { 'pci:gold': 3, 'pci:silver': 9 };
    const fleet = newFleet(host('a', { memoryMiB: 65_536 }), host('b', { resources }));
    expect(placeUntilFull(fleet, request({ nics: [device, device] }))).toEqual([
      'b',
      '2 of 2 hosts: too little of pci:gold left: 2 requested, 1 at most.',
    ]);
  });

  test('they come on top of what the amounts ask of the same class', () => {
    const amounts = { vcpus: 1, memoryMiB: 1, diskGiB: 1, resources: { 'pci:gold': 1, gpus: 1 } };
    const requested = request({ amounts, nics: [device] });
    expect(composeClaim(requested, { host: 'a', pools: ['network:n'] }).resources).toEqual({ 'pci:gold': 2, gpus: 1 });
    expect(schedule(newFleet(host('a', { resources: { 'pci:gold': 1, gpus: 1 } })), requested).kind).toBe('none');
  });
});

describe('service versions', () => {
  const old = host('a', { serviceVersion: 1, memoryMiB: 65_536 });

  test('a host with a lower version is not chosen', () => {
    const fleet = newFleet(old, host('b', { serviceVersion: 2 }), host('c', { serviceVersion: 3, vcpus: 2 }));
    const on = (serviceVersion: number) => schedule(fleet, request({ serviceVersion }));
    expect([1, 2, 3, 4].map(on)).toMatchObject([{ host: 'a' }, { host: 'b' }, { host: 'c' }, { kind: 'none' }]);
    expect(schedule(fleet, request({ serviceVersion: 2, onlyHost: 'a' })).kind).toBe('none');
    commit(fleet, host('a', { serviceVersion: 4 }));
    expect(on(4)).toMatchObject({ host: 'a' });
  });

  test('the report says so', () => {
    const fleet = newFleet(old, host('b', { serviceVersion: 2 }), host('c', { state: 'joining', serviceVersion: 0 }));
    const answer = schedule(fleet, request({ serviceVersion: 3 }));
    expect(answer).toMatchObject({
      kind: 'none',
      report: {
        stages: expect.arrayContaining([
          { filter: 'version', before: 2, after: 0, cause: 'host-too-old', facts: { needs: 3 } },
        ]) as unknown,
      },
    });
    expect(answer.kind === 'none' && reportSentences(answer.report)).toEqual([
      '1 of 3 hosts: still joining.',
      '2 of 2 hosts: with an agent that is too old: service version 3 is needed.',
    ]);
  });

  test('costs nothing while all schedulable hosts have it', () => {
    const fleet = newFleet(host('a'), host('b', { state: 'joining', serviceVersion: 0 }));
    const isOpen = (): boolean => prepareRequest(fleet, request({ serviceVersion: 3 })).filter.passesAll;
    expect(isOpen()).toBe(true);
    commit(fleet, host('b', { serviceVersion: 2 }));
    expect(isOpen()).toBe(false);
    commit(fleet, host('b', { serviceVersion: 2, disabled: { reason: 'x', by: 'x', atMs: 0 } }));
    expect(isOpen()).toBe(true);
  });
});

test('a brief answer has the number of hosts, and no more', () => {
  const fleet = newFleet(host('a'), host('b'));
  const requested = request({ onlyHost: 'c' });
  expect(schedule(fleet, { ...requested, brief: true })).toEqual({ kind: 'none', report: { hosts: 2, stages: [] } });
  expect(schedule(fleet, request({ brief: true }))).toMatchObject({ kind: 'chosen', host: 'a' });
});
