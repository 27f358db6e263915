import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { flattenGroup, unflattenGroup } from './flat-group.ts';
import type { CommitBatch, Precondition } from './store.ts';

const text = fc.string({ unit: 'binary', maxLength: 8 });
const resource = fc.tuple(fc.constantFrom('host', 'port'), fc.constantFrom('a', 'b', '0'));
const change = fc.tuple(resource, fc.option(text)).map(([[kind, id], body]) => ({ kind, id, body }));
const precondition = fc
  .tuple(resource, fc.option(fc.nat()))
  .map(([of, revision]): Precondition =>
    revision === null ? { kind: 'absent', resource: of } : { kind: 'at', resource: of, revision },
  );
const batch: fc.Arbitrary<CommitBatch> = fc.record(
  {
    id: text,
    atMs: fc.integer(),
    by: text,
    why: text,
    operation: text,
    changes: fc.array(change, { maxLength: 4 }),
    preconditions: fc.array(precondition, { maxLength: 4 }),
  },
  { requiredKeys: ['id', 'atMs', 'by', 'changes', 'preconditions'] },
);

it('a group that was made flat is the same again', () => {
  const property = fc.property(fc.array(batch, { maxLength: 4 }), (batches) => {
    expect(unflattenGroup(structuredClone(flattenGroup(batches)))).toEqual(batches);
  });
  fc.assert(property, { numRuns: 500 });
});
