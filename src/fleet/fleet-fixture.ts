// A small kind with an index and a projection, and random commits on it: for the properties of fleet and stage.
import * as fc from 'fast-check';
import { idOf, put, remove, type Change, type Id, type Kind, type Stored } from './document.ts';
import { Registry, type AppliedChange, type Index, type ProjectionState, type Projection } from './registry.ts';

export interface Box {
  readonly colour: string;
  readonly tags: readonly string[];
  readonly weight: number;
}

export const BOX: Kind<'box', Box> = { name: 'box', check: () => undefined };
export const LID: Kind<'lid', { readonly box: string }> = { name: 'lid', check: () => undefined };

export const BOXES_BY_TAG: Index<'box', Box> = { name: 'boxes-by-tag', kind: BOX, keysOf: (doc) => doc.tags };

/** What all boxes of a colour weigh: a function of the documents alone. */
export class WeightsByColour implements ProjectionState {
  readonly byColour = new Map<string, number>();

  apply({ before, after }: AppliedChange): void {
    this.#add(before, -1);
    this.#add(after, 1);
  }

  #add(stored: Stored | undefined, sign: number): void {
    if (stored === undefined) return;
    const { colour, weight } = stored.doc as Box;
    const sum = (this.byColour.get(colour) ?? 0) + sign * weight;
    if (sum === 0) this.byColour.delete(colour);
    else this.byColour.set(colour, sum);
  }
}

export const WEIGHTS: Projection<WeightsByColour> = {
  name: 'weights',
  kinds: ['box'],
  create: () => new WeightsByColour(),
};

export function boxRegistry(): Registry {
  return new Registry([{ kinds: [BOX, LID], indexes: [BOXES_BY_TAG], projections: [WEIGHTS] }]);
}

const IDS = ['a', 'b', 'c', 'd', 'e', 'f'];
export const TAGS = ['red', 'blue', 'green'];

export const boxId = (id: string): Id<'box'> => idOf(BOX, id);

const anyBox = fc.record({
  colour: fc.constantFrom('white', 'black'),
  tags: fc.uniqueArray(fc.constantFrom(...TAGS)),
  weight: fc.integer({ min: 1, max: 9 }),
});

const anyChange: fc.Arbitrary<Change> = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(fc.constantFrom(...IDS), anyBox).map(([id, box]) => put(BOX, boxId(id), box)) },
  { weight: 2, arbitrary: fc.constantFrom(...IDS).map((id) => remove(BOX, boxId(id))) },
  { weight: 1, arbitrary: fc.constantFrom(...IDS).map((id) => put(LID, idOf(LID, id), { box: id })) },
);

/** A commit changes a document once. */
const anyCommit = fc.uniqueArray(anyChange, { selector: (one) => `${one.kind}/${one.id}`, minLength: 1, maxLength: 4 });

export const anyCommits = fc.array(anyCommit, { maxLength: 20 });
