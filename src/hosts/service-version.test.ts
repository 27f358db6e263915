import { describe, expect, test } from 'vitest';
import type { Stored } from '../fleet/index.ts';
import type { Host } from './model.ts';
import { SERVICE_VERSIONS } from './service-version.ts';

type Facts = Partial<Pick<Host, 'state' | 'forcedDown' | 'serviceVersion' | 'connection'>>;

function stored(facts: Facts): Stored {
  const doc = { state: 'active', serviceVersion: 3, connection: { state: 'up', sinceMs: 0 }, ...facts };
  return { id: 'h' as Stored['id'], revision: 1, doc };
}

function minimumOf(...hosts: readonly Facts[]): number {
  const versions = SERVICE_VERSIONS.create();
  for (const host of hosts) versions.apply({ kind: 'host', before: undefined, after: stored(host) });
  return versions.minimum;
}

const FORCED_DOWN = { reason: 'off', by: 'ops', atMs: 0 };

describe('the lowest service version', () => {
  test.each([
    ['no-host-is-0', [], 0],
    ['the-lowest-counts', [{ serviceVersion: 3 }, { serviceVersion: 1 }, { serviceVersion: 2 }], 1],
    ['a-host-that-is-merely-down-counts', [{}, { serviceVersion: 1, connection: { state: 'down', sinceMs: 0 } }], 1],
    ['a-host-that-is-forced-down-does-not', [{}, { serviceVersion: 1, forcedDown: FORCED_DOWN }], 3],
    ['a-host-that-is-removed-does-not', [{}, { serviceVersion: 1, state: 'removed' }], 3],
    ['a-host-that-never-said-does-not-while-it-joins', [{}, { serviceVersion: 0, state: 'joining' }], 3],
    ['a-tombstoned-host-does', [{}, { serviceVersion: 2, state: 'draining' }], 2],
  ] as const)('%s', (_name, hosts, expected) => {
    expect(minimumOf(...(hosts as readonly Facts[]))).toBe(expected);
  });

  test('never: a change that is undone leaves a trace', () => {
    const versions = SERVICE_VERSIONS.create();
    versions.apply({ kind: 'host', before: undefined, after: stored({ serviceVersion: 3 }) });
    versions.apply({ kind: 'host', before: stored({ serviceVersion: 3 }), after: stored({ serviceVersion: 1 }) });
    expect([versions.minimum, versions.countBelow(3)]).toEqual([1, 1]);
    versions.apply({ kind: 'host', before: stored({ serviceVersion: 1 }), after: stored({ serviceVersion: 3 }) });
    expect([versions.minimum, versions.countBelow(3)]).toEqual([3, 0]);
  });
});
