import { describe, expect, test } from 'vitest';
import { painter } from '../output/paint.ts';
import {
  blockedLines,
  cleanUpLines,
  emptyText,
  hostLine,
  isRefused,
  leftText,
  renderProgress,
  resultLines,
  ScaleInChanges,
  straysLines,
  undrainedLines,
  type HostResult,
  type HostProgress,
} from './scale-in-text.ts';

const host = (name: string, more: Partial<HostProgress> = {}): HostProgress => ({
  host: name,
  site: 'central',
  state: 'draining',
  connection: 'up',
  drain: true,
  left: { designations: 0, instances: 0 },
  underWay: 0,
  ...more,
});

describe('what became of each host', () => {
  test.each<[name: string, verb: 'start' | 'end' | 'recover', result: HostResult, lines: string[]]>([
    ['accepted', 'start', { host: 'c1', result: 'accepted' }, ['c1 leaves service.']],
    ['unchanged', 'recover', { host: 'c1', result: 'unchanged' }, ['c1 is in service or on its way back already.']],
    [
      'named-by-another-form',
      'end',
      { host: 'openflow:7', name: 'c1', result: 'accepted' },
      ['openflow:7 (c1) is being removed.'],
    ],
    [
      'unknown-with-its-sentence',
      'start',
      { host: 'x', result: 'unknown', sentence: 'There is no host "x".' },
      ['x: There is no host "x".'],
    ],
    [
      'wrong-state-with-its-code',
      'end',
      { host: 'x', result: 'wrong-state', reason: { code: 'in-service' } },
      ['x: in-service'],
    ],
    [
      'blocked-by-name',
      'end',
      {
        host: 'c1',
        result: 'blocked',
        blockers: [
          { code: 'lives-here', sentence: 'Instance web-1 lives there.' },
          { code: 'still-connected', sentence: 'It is connected.' },
        ],
      },
      ['c1 is blocked:', '  Instance web-1 lives there.', '  It is connected.'],
    ],
  ])('%s', (_name, verb, result, lines) => {
    expect(resultLines(verb, result)).toEqual(lines);
  });

  test('ten-blockers-are-reported-and-the-rest-counted', () => {
    const blockers = Array.from({ length: 12 }, (_, at) => ({ code: 'lives-here', sentence: `${at}` }));
    expect(resultLines('end', { host: 'c1', result: 'blocked', blockers })).toHaveLength(12);
    expect(resultLines('end', { host: 'c1', result: 'blocked', blockers }).at(-1)).toBe('  and 2 more');
  });

  test('names-can-do-nothing-to-a-terminal', () => {
    expect(resultLines('start', { host: 'c1\u001B[2J', result: 'accepted' })[0]).not.toContain('\u001B');
  });

  test('what-was-done-or-needed-nothing-is-good', () => {
    const results = ['accepted', 'unchanged', 'unknown', 'wrong-state', 'blocked'] as const;
    expect(results.filter((result) => isRefused({ host: 'c1', result }))).toEqual([
      'unknown',
      'wrong-state',
      'blocked',
    ]);
  });
});

describe('how a host stands', () => {
  test.each([
    ['nothing-left', host('c1', { state: 'drained' }), 'c1 drained, nothing left'],
    [
      'one-and-many',
      host('c1', { left: { designations: 1, instances: 2 } }),
      'c1 draining, 1 designation, 2 instances left',
    ],
    [
      'with-the-reason-of-its-wait',
      host('c1', { left: { instances: 3 }, underWay: 2, reason: { code: 'x' }, sentence: 'No room.' }),
      'c1 draining, 3 instances left, 2 on the way: No room.',
    ],
    [
      'what-is-left-does-not-matter-on-the-way-back',
      host('c1', { state: 'recovering', left: { instances: 3 } }),
      'c1 recovering',
    ],
  ])('%s', (_name, shown, line) => {
    expect(hostLine(shown)).toBe(line);
  });

  test('nothing-is-printed-as-nothing', () => {
    expect(leftText({})).toBe('nothing');
  });
});

describe('a wait', () => {
  const operations = [{ id: 'op-1', state: 'running', title: 'scale in 2 hosts' }];
  const seen = (...hosts: readonly HostProgress[]) => ({ operations, hosts, startedMs: 0 });

  test('is-printed-to-pipes-when-something-is-new', () => {
    const news = new ScaleInChanges();
    const full = host('c1', { left: { instances: 2 } });
    expect(news.lines(seen(full, host('c2')))).toEqual([
      'op-1 running',
      '  c1 draining, 2 instances left',
      '  c2 draining, nothing left',
    ]);
    expect(news.lines(seen(full, host('c2')))).toEqual([]);
    expect(news.lines(seen(full, host('c2', { state: 'drained' })))).toEqual(['  c2 drained, nothing left']);
  });

  test('is-drawn-with-those-that-wait-first-and-not-more-than-fit', () => {
    const waits = host('c9', { reason: { code: 'x' }, sentence: 'No room.' });
    const many = Array.from({ length: 16 }, (_, at) => host(`h${at}`));
    const lines = renderProgress(seen(...many, waits), { paint: painter(false), nowMs: 5000, columns: 40 });
    expect(lines[0]).toBe('scale in 2 hosts running, 5s');
    expect(lines[1]).toBe('  c9 draining, nothing left: No room.');
    expect(lines).toHaveLength(17);
    expect(lines.at(-1)).toBe('  and 2 more');
  });
});

test('only-hosts-that-are-empty-are-named-for-removal', () => {
  const hosts = [
    host('c1', { state: 'drained' }),
    host('c2', { state: 'recovering' }),
    host('c3', { state: 'drained' }),
  ];
  expect(emptyText(hosts)).toBe('They are empty. Remove them with: muster scale-in end c1 c3 --disconnect');
  expect(emptyText(hosts.slice(0, 2))).toBe('It is empty. Remove it with: muster scale-in end c1 --disconnect');
  expect(emptyText([])).toBeUndefined();
});

test('peers-that-have-something-to-clean-are-listed-the-first-of-them-and-counted', () => {
  const linesOf = (count: number, inAll = count) => {
    const pending = Array.from({ length: count }, (_, nth) => ({ peer: `p${nth}`, host: 'c1', sinceMs: 0 }));
    return cleanUpLines({ pending, inAll }, 5000);
  };
  expect(linesOf(0)).toEqual([]);
  expect(linesOf(1)).toEqual(['p0 has yet to clean up what it has of c1, since 5s ago.']);
  expect(linesOf(20)).toHaveLength(20);
  expect(linesOf(1000, 2345).slice(19)).toEqual([
    'p19 has yet to clean up what it has of c1, since 5s ago.',
    'and 2325 more, 2345 in all.',
  ]);
});

describe('what cannot leave', () => {
  test('a-line-for-each, under a heading that counts those that are not shown too', () => {
    const blocked = [{ host: 'c1', kind: 'instance', id: 'web', reason: { code: 'x' }, sentence: 'No host fits.' }];
    expect(blockedLines(blocked, 1)).toEqual(['No place to go (1):', '  c1 instance web: No host fits.']);
    expect(blockedLines(blocked, 3)).toEqual([
      'No place to go (3):',
      '  c1 instance web: No host fits.',
      '  and 2 more, not listed. "muster scale-in status HOST" lists those of one host.',
    ]);
    expect(blockedLines([], 0)).toEqual([]);
  });

  test('services-that-are-held-are-not-without-a-place', () => {
    const service = { host: 'c1', kind: 'service', sentence: 'Elections are paused.' };
    const held = [
      { ...service, id: 'nat:r1', reason: { code: 'elections-held' } },
      { ...service, id: 'nat:r2', reason: { code: 'held-out-of-control' } },
    ];
    const lines = [
      'Held where they are (2):',
      '  c1 service nat:r1: Elections are paused.',
      '  c1 service nat:r2: Elections are paused.',
    ];
    expect(blockedLines(held, 2)).toEqual(lines);
    const web = { host: 'c1', kind: 'instance', id: 'web', reason: { code: 'x' }, sentence: 'No host fits.' };
    expect(blockedLines([held[0]!, web, held[1]!], 3)).toEqual([
      'No place to go (1):',
      '  c1 instance web: No host fits.',
      ...lines,
    ]);
  });

  test('what-goes-when-something-inside-has-left is not without a place', () => {
    const next = {
      host: 'c1',
      kind: 'instance',
      id: 'w1',
      reason: { code: 'worker-leaves-first' },
      sentence: 'Its worker first.',
    };
    const web = { host: 'c1', kind: 'instance', id: 'web', reason: { code: 'x' }, sentence: 'No host fits.' };
    const lines = ['Moved when what runs in them has left (1):', '  c1 instance w1: Its worker first.'];
    expect(blockedLines([next], 1)).toEqual(lines);
    expect(blockedLines([next, web], 2)).toEqual(['No place to go (1):', '  c1 instance web: No host fits.', ...lines]);
  });

  test('a-host-whose-instances-are-left-to-the-operator-is-named, while something is left there', () => {
    const leaving = host('c1', { drain: false, left: { designations: 0, instances: 1 } });
    expect(undrainedLines([leaving])).toEqual([
      'Instances are not moved off c1: it was started with --no-drain. "muster hosts tenants c1" shows where each could go, or what it lacks.',
    ]);
    const others = [
      host('c2', { drain: false }),
      host('c3', { left: { instances: 1 } }),
      { ...leaving, state: 'drained' as const },
    ];
    expect(undrainedLines(others)).toEqual([]);
  });
});

describe('strays', () => {
  const strays = { names: ['interface/tap0', 'instance/v1'], count: 5, sinceMs: 0 };

  test('are-listed-under-a-heading-that-says-what-follows', () => {
    expect(straysLines([host('c1', { strays }), host('c2')])).toEqual([
      'Strays, which a drain does not move and which keep their host from being removed:',
      '  c1: interface/tap0, instance/v1 and 3 more',
    ]);
    expect(straysLines([host('c2')])).toEqual([]);
  });

  test('a-host-that-has-some-is-not-called-empty', () => {
    const drained = { state: 'drained' as const };
    expect(emptyText([host('c1', { ...drained, strays }), host('c2', drained)])).toBe(
      'It is empty. Remove it with: muster scale-in end c2 --disconnect',
    );
    expect(emptyText([host('c1', { ...drained, strays })])).toBeUndefined();
  });
});
