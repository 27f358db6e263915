// What is said of a cluster that was just registered.
import { expect, test } from 'vitest';
import type { Cluster } from '../client/representations.ts';
import { describeRegistered } from './clusters.ts';

const EDGE = { name: 'edge', kind: 'api', state: 'reachable' } as Cluster;

test.each<[string, Partial<Cluster>, RegExp]>([
  [
    'one that may all',
    { version: 'v1.31.0', missingPermissions: [] },
    /answers \(v1\.31\.0\)\. Muster may do there all/,
  ],
  [
    'one that may not',
    { missingPermissions: [{ verb: 'patch', resource: 'nodes' }] },
    /Muster may not: patch nodes\. What needs that fails/,
  ],
  ['one that does not say', {}, /does not say what Muster may do/],
  ['one that did not answer', { state: 'unknown' }, /has not answered yet: "muster clusters show edge"/],
])('%s', (_, facts, said) => {
  expect(describeRegistered({ ...EDGE, ...facts })).toMatch(said);
});
