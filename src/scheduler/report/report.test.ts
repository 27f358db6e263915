import { describe, expect, test } from 'vitest';
import type { Change } from '../../fleet/index.ts';
import { reportSentences, reportText } from './sentences.ts';
import type { ScheduleReport, ScheduleRequest } from '../request.ts';
import { schedule } from '../schedule.ts';
import { choice, claim, host, newFleet, nic, request, segment, settings } from '../scheduler-fixture.ts';

function reportOf(requested: ScheduleRequest, ...changes: readonly Change[]): ScheduleReport {
  const answer = schedule(newFleet(...changes), requested);
  if (answer.kind === 'chosen') throw new Error(`${answer.host} was chosen`);
  return answer.report;
}

describe('the report of a request without a fitting host', () => {
  test('counts-each-host-at-the-first-filter-that-stops-it', () => {
    const report = reportOf(
      request({
        zone: 'z1',
        requiredTraits: ['ssd'],
        group: { id: 'g', policy: 'anti-affinity' },
        excludedHosts: ['h3'],
        nics: [nic('n', choice('s0'))],
      }),
      ...segment('s0', 'n', 0),
      host('h1', { disabled: { reason: 'x', by: 'x', atMs: 0 } }),
      host('h2', { state: 'draining' }),
      host('h3'),
      host('h4', { zone: 'z2' }),
      host('h5'),
      host('h6', { traits: ['ssd'], memoryMiB: 512 }),
      host('h7', { traits: ['ssd'] }),
      claim('i', 'h7', { group: 'g' }),
      host('h8', { traits: ['ssd'] }),
      host('h9', { traits: ['ssd'], physicalNetworks: ['p-s0'] }),
      host('gone', { state: 'removed' }),
    );
    expect(report.stages).toMatchInlineSnapshot(`
      [
        {
          "after": 8,
          "before": 9,
          "cause": "host-not-available",
          "facts": {
            "standing": "disabled",
          },
          "filter": "up-and-enabled",
        },
        {
          "after": 7,
          "before": 8,
          "cause": "host-not-available",
          "facts": {
            "standing": "leaving",
          },
          "filter": "in-service",
        },
        {
          "after": 6,
          "before": 7,
          "cause": "host-excluded",
          "filter": "excluded-hosts",
        },
        {
          "after": 5,
          "before": 6,
          "cause": "wrong-zone",
          "facts": {
            "zone": "z1",
          },
          "filter": "zone",
        },
        {
          "after": 4,
          "before": 5,
          "cause": "trait-missing",
          "facts": {
            "trait": "ssd",
          },
          "filter": "required-traits",
        },
        {
          "after": 4,
          "before": 4,
          "filter": "vcpus",
        },
        {
          "after": 3,
          "before": 4,
          "cause": "memory-short",
          "facts": {
            "asked": 1024,
            "most": 512,
          },
          "filter": "memory",
        },
        {
          "after": 3,
          "before": 3,
          "filter": "disk",
        },
        {
          "after": 2,
          "before": 3,
          "cause": "anti-affinity-broken",
          "facts": {
            "group": "g",
          },
          "filter": "group",
        },
        {
          "after": 1,
          "before": 2,
          "cause": "segment-unreachable",
          "facts": {
            "network": "n",
          },
          "filter": "segments",
        },
        {
          "after": 0,
          "before": 1,
          "cause": "addresses-exhausted",
          "facts": {
            "asked": 1,
            "free": 0,
            "network": "n",
            "segment": "s0",
            "version": 4,
          },
          "filter": "addresses",
        },
      ]
    `);
    expect(reportSentences(report)).toMatchInlineSnapshot(`
      [
        "1 of 9 hosts: disabled.",
        "1 of 8 hosts: leaving.",
        "1 of 7 hosts: excluded.",
        "1 of 6 hosts: not in zone z1.",
        "1 of 5 hosts: without trait ssd.",
        "1 of 4 hosts: too little memory left: 1024 MiB requested, 512 MiB at most.",
        "1 of 3 hosts: with a member of group g already.",
        "1 of 2 hosts: no segment of network n within reach.",
        "1 of 1 host: too few free IPv4 addresses in segment s0 of network n: 1 requested, 0 free.",
      ]
    `);
    expect(JSON.stringify(report)).not.toContain('h9');
  });

  test('tells-the-most-that-any-host-had-left', () => {
    const requested = request({ amounts: { vcpus: 20, memoryMiB: 32_768, diskGiB: 500, resources: { gpus: 2 } } });
    const report = reportOf(
      requested,
      host('a', { vcpus: 8 }),
      host('b', { vcpus: 12 }),
      claim('i', 'b', { vcpus: 1 }),
      host('c', { vcpus: 32 }),
      host('d', { vcpus: 32, memoryMiB: 65_536 }),
      host('e', { vcpus: 32, memoryMiB: 65_536, diskGiB: 500, resources: { gpus: 1 } }),
    );
    expect(reportSentences(report)).toMatchInlineSnapshot(`
      [
        "2 of 5 hosts: too few vcpus left: 20 requested, 11 at most.",
        "1 of 3 hosts: too little memory left: 32768 MiB requested, 16384 MiB at most.",
        "1 of 2 hosts: too little disk left: 500 GiB requested, 100 GiB at most.",
        "1 of 1 host: too little of gpus left: 2 requested, 1 at most.",
      ]
    `);
  });

  test('names-every-segment-and-version-that-is-short', () => {
    const dual = nic('n', { ...choice('s0'), takes: [4, 6] }, { ...choice('s1'), takes: [4, 6] });
    const report = reportOf(
      request({ nics: [dual, dual] }),
      ...segment('s0', 'n', 1, 0),
      ...segment('s1', 'n', 0, 1),
      host('b', { physicalNetworks: ['p-s0', 'p-s1'] }),
    );
    expect(reportSentences(report)).toMatchInlineSnapshot(`
      [
        "1 of 1 host: too few free addresses: IPv4 in segment s1 of network n: 2 requested, 0 free; IPv6 in segment s0 of network n: 2 requested, 0 free; IPv6 in segment s1 of network n: 2 requested, 0 free; IPv4 in segment s0 of network n: 2 requested, 1 free.",
      ]
    `);
  });

  test('tells-which-segment-has-too-few-addresses-and-how-many', () => {
    const two = nic('n', choice('s0'), choice('s1'));
    const report = reportOf(
      request({ nics: [two, two, two], excludedPools: ['segment:s2'] }),
      ...segment('s0', 'n', 1, 0),
      ...segment('s1', 'n', 0, 1),
      host('a', { physicalNetworks: ['p-s0'] }),
      host('b', { physicalNetworks: ['p-s0', 'p-s1'] }),
      host('c', { physicalNetworks: ['p-s1'] }),
      host('d', { physicalNetworks: ['p-s9'] }),
    );
    expect(report.stages.filter(({ cause }) => cause !== undefined)).toMatchInlineSnapshot(`
      [
        {
          "after": 3,
          "before": 4,
          "cause": "segment-unreachable",
          "facts": {
            "network": "n",
          },
          "filter": "segments",
        },
        {
          "after": 2,
          "before": 3,
          "cause": "addresses-exhausted",
          "facts": {
            "asked": 3,
            "free": 1,
            "network": "n",
            "segment": "s0",
            "version": 4,
          },
          "filter": "addresses",
        },
        {
          "after": 1,
          "before": 2,
          "cause": "addresses-exhausted",
          "facts": {
            "asked": 3,
            "free": 0,
            "network": "n",
            "segment": "s1",
            "version": 4,
          },
          "filter": "addresses",
        },
        {
          "after": 0,
          "before": 1,
          "cause": "addresses-exhausted",
          "facts": {
            "asked": 3,
            "free": 0,
            "network": "n",
            "segment": "s1",
            "short": "IPv4 in segment s1 of network n: 3 requested, 0 free; IPv4 in segment s0 of network n: 3 requested, 1 free",
            "version": 4,
          },
          "filter": "addresses",
        },
      ]
    `);
    expect(reportSentences(report)).toMatchInlineSnapshot(`
      [
        "1 of 4 hosts: no segment of network n within reach.",
        "1 of 3 hosts: too few free IPv4 addresses in segment s0 of network n: 3 requested, 1 free.",
        "1 of 2 hosts: too few free IPv4 addresses in segment s1 of network n: 3 requested, 0 free.",
        "1 of 1 host: too few free addresses: IPv4 in segment s1 of network n: 3 requested, 0 free; IPv4 in segment s0 of network n: 3 requested, 1 free.",
      ]
    `);
  });

  test('tells-of-excluded-segments-bandwidth-caps-and-affinity', () => {
    const requested = request({
      group: { id: 'g', policy: 'affinity' },
      nics: [{ ...nic('n', choice('s0'), choice('s1')), minBandwidthKbps: 300 }],
      excludedPools: ['segment:s0'],
    });
    const report = reportOf(
      requested,
      settings({}, { instancesPerHostMax: 2 }),
      ...segment('s0', 'n', 5, 0),
      ...segment('s1', 'n', 5, 1),
      host('a', { physicalNetworks: ['p-s0'] }),
      host('b', { physicalNetworks: ['p-s1'] }),
      host('c', { physicalNetworks: ['p-s1'], resources: { 'bandwidth-kbps:p-s1': 500 } }),
      host('d', { physicalNetworks: ['p-s1'] }),
      ...['a', 'b', 'c'].map((id) => claim(`i-${id}`, id, { group: 'g' })),
      claim('i-c2', 'c'),
    );
    expect(reportSentences(report)).toMatchInlineSnapshot(`
      [
        "1 of 4 hosts: without a member of group g.",
        "1 of 3 hosts: only segments of network n within reach that failed before.",
        "1 of 2 hosts: too little bandwidth for network n: 300 kbit/s requested.",
        "1 of 1 host: full: 2 instances at most.",
      ]
    `);
  });

  test('says-so-when-there-are-no-hosts', () => {
    expect(reportText(reportOf(request()))).toBe('There are no hosts.');
  });

  test('a-report-has-no-more-stages-than-are-kept', () => {
    const traits = Array.from({ length: 60 }, (_, nth) => `t${nth}`);
    const hosts = traits.map((_, nth) => host(`h${nth}`, { traits: traits.toSpliced(nth, 1) }));
    const report = reportOf(request({ requiredTraits: traits }), ...hosts);
    expect(report.stages).toHaveLength(40);
    expect(report.stages.at(-1)).toEqual({ filter: 'further', before: 21, after: 0, cause: 'several-causes' });
  });

  test('a-nic-that-keeps-its-address: the segment that it is in, not the network', () => {
    const kept = { ...nic('n', choice('s0', { takes: [] })), address: '10.1.0.10' };
    const elsewhere = host('h1', { physicalNetworks: ['p-s1'] });
    const segments = [...segment('s0', 'n', 9), ...segment('s1', 'n', 9)];
    expect(reportText(reportOf(request({ nics: [kept] }), ...segments, elsewhere))).toBe(
      '1 of 1 host: out of reach of segment s0 of network n, which address 10.1.0.10 is in.',
    );
    const nowhere = { ...nic('n'), address: '10.1.0.10' };
    expect(reportText(reportOf(request({ nics: [nowhere] }), ...segments, elsewhere))).toBe(
      '1 of 1 host: address 10.1.0.10 is in no segment of network n any more.',
    );
  });

  test('excluded-hosts: by what, and which', () => {
    const exclusionReasons = new Map([
      ['h1', { because: 'tried-in-build', fault: 'spawn-failed' }],
      ['h2', { because: 'tried-in-build', fault: 'spawn-failed' }],
      ['h3', { because: 'tried-in-build', fault: 'not-plugged' }],
      ['h4', { because: 'to-be-swept' }],
    ] as const);
    const requested = request({ excludedHosts: [...exclusionReasons.keys()], exclusionReasons });
    expect(reportSentences(reportOf(requested, host('h1'), host('h2'), host('h3'), host('h4')))).toEqual([
      '2 of 4 hosts: excluded: tried before in this build: spawn-failed on h1, h2.',
      '1 of 2 hosts: excluded: an earlier copy of it is still to be destroyed on h4.',
      '1 of 1 host: excluded: tried before in this build: not-plugged on h3.',
    ]);
  });
});
