// Which cluster a command for workers is about.
import { expect, test } from 'vitest';
import { clusterOf } from './cluster-of-workers.ts';

test.each([
  [['edge.a', 'edge.b'], undefined, 'edge'],
  [['a'], 'north', 'north'],
  // The server says that the two do not go together.
  [['edge.a'], 'north', 'north'],
  [[], 'edge', 'edge'],
])('of %j with --cluster %s it is %s', (workers, cluster, expected) => {
  expect(clusterOf(workers, cluster === undefined ? {} : { cluster })).toBe(expected);
});

test.each([[['a', 'edge.b']], [['.a']], [[]]])('%j says none', (workers) => {
  expect(() => clusterOf(workers, {})).toThrow(/--cluster/);
});
