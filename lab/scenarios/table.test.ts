import { expect, test } from 'vitest';
import { assess } from '../oracle.ts';
import { tableOf } from './table.ts';

const verdict = (received: number, gapMs: number) =>
  assess({
    echo: [],
    push: [{ flow: 1, to: 'vm', sent: 10, received, duplicates: 0, gapMs, pairs: ['a:1'] }],
    tcp: [],
    ping: [],
  });

test('runs-on-a-busy-machine-are-counted-apart', () => {
  const failed = { kind: 'failed', verdict: verdict(7, 31), problems: ['lost'] } as const;
  const table = tableOf([
    {
      name: 'one',
      outcomes: [{ kind: 'passed', verdict: verdict(10, 12) }, failed, { kind: 'machine-too-busy', tries: [] }],
    },
    { name: 'two', outcomes: [{ kind: 'machine-too-busy', tries: [] }] },
  ]);
  expect(table).toMatchInlineSnapshot(`
    "| scenario | runs | passed | failed | too busy | forward lost | return lost | push lost | gap, ms |
    | --- | --: | --: | --: | --: | --: | --: | --: | --: |
    | one | 3 | 1 | 1 | 1 | 0 | 0 | 0-3 | 12-31 |
    | two | 1 | 0 | 0 | 1 |  |  |  |  |
    "
  `);
});
