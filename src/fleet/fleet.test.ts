import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Change, Stored } from './document.ts';
import { anyCommits, BOX, BOXES_BY_TAG, boxId, boxRegistry, LID, TAGS, WEIGHTS, type Box } from './fleet-fixture.ts';
import { Fleet } from './fleet.ts';
import { listOf } from './reader.ts';

/** The fleet in its simplest form, which need not be fast. */
class NaiveFleet {
  readonly boxes = new Map<string, Stored>();
  readonly lids = new Map<string, Stored>();
  revision = 0;

  apply(changes: readonly Change[]): void {
    this.revision += 1;
    for (const { kind, id, doc } of changes) {
      const shelf = kind === 'box' ? this.boxes : this.lids;
      if (doc === null) shelf.delete(id);
      else shelf.set(id, { id: boxId(id), revision: this.revision, doc });
    }
  }

  all(): Stored[] {
    return [...this.boxes.values()].sort((one, other) => (one.id < other.id ? -1 : 1));
  }

  tagged(tag: string): Stored[] {
    return this.all().filter(({ doc }) => (doc as Box).tags.includes(tag));
  }

  weights(): Record<string, number> {
    const sums: Record<string, number> = {};
    for (const { doc } of this.all()) {
      const { colour, weight } = doc as Box;
      sums[colour] = (sums[colour] ?? 0) + weight;
    }
    return sums;
  }
}

function expectSame(fleet: Fleet, naive: NaiveFleet): void {
  expect(fleet.revision).toBe(naive.revision);
  expect(listOf(fleet, BOX)).toEqual(naive.all());
  expect(fleet.count(BOX)).toBe(naive.boxes.size);
  expect(fleet.count(LID)).toBe(naive.lids.size);
  for (const tag of TAGS) {
    expect([...fleet.find(BOXES_BY_TAG, tag)]).toEqual(naive.tagged(tag));
    expect(fleet.countOf(BOXES_BY_TAG, tag)).toBe(naive.tagged(tag).length);
  }
  expect(Object.fromEntries(fleet.projection(WEIGHTS).byColour)).toEqual(naive.weights());
}

describe('Fleet', () => {
  it('shows after every commit what a naive model shows', () => {
    const property = fc.property(anyCommits, (commits) => {
      const fleet = new Fleet(boxRegistry());
      const naive = new NaiveFleet();
      for (const changes of commits) {
        fleet.apply(fleet.revision + 1, changes);
        naive.apply(changes);
        expectSame(fleet, naive);
      }
    });
    fc.assert(property, { numRuns: 300 });
  });

  it('is the same when loaded from a snapshot as when every commit is applied', () => {
    const property = fc.property(anyCommits, anyCommits, (before, tail) => {
      const replayed = new Fleet(boxRegistry());
      const naive = new NaiveFleet();
      for (const changes of before) replayed.apply(replayed.revision + 1, changes);
      for (const changes of [...before, ...tail]) naive.apply(changes);
      const loaded = new Fleet(boxRegistry());
      for (const stored of replayed.all(BOX)) loaded.load('box', stored);
      for (const stored of replayed.all(LID)) loaded.load('lid', stored);
      loaded.finishLoad(replayed.revision);
      for (const changes of tail) loaded.apply(loaded.revision + 1, changes);
      expectSame(loaded, naive);
    });
    fc.assert(property);
  });

  it('pages through a kind in id order, each document once, whatever the page size', () => {
    const property = fc.property(anyCommits, fc.integer({ min: 1, max: 4 }), (commits, limit) => {
      const fleet = new Fleet(boxRegistry());
      for (const changes of commits) fleet.apply(fleet.revision + 1, changes);
      const paged: Stored[] = [];
      for (let page = fleet.page(BOX, '', limit); page.length > 0; page = fleet.page(BOX, page.at(-1)!.id, limit)) {
        paged.push(...page);
      }
      expect(paged).toEqual(listOf(fleet, BOX));
    });
    fc.assert(property);
  });

  it('tells what each change replaced', () => {
    const fleet = new Fleet(boxRegistry());
    const white = { colour: 'white', tags: [], weight: 1 };
    fleet.apply(1, [{ kind: 'box', id: 'a', doc: white }]);
    const applied = fleet.apply(2, [{ kind: 'box', id: 'a', doc: null }]);
    expect(applied).toEqual([{ kind: 'box', before: { id: 'a', revision: 1, doc: white }, after: undefined }]);
  });

  it('refuses a commit that leaves a gap or comes twice', () => {
    const fleet = new Fleet(boxRegistry());
    expect(() => fleet.apply(2, [])).toThrow('commit 2 does not follow revision 0');
    fleet.apply(1, []);
    expect(() => fleet.apply(1, [])).toThrow('commit 1 does not follow revision 1');
  });

  it('shows nothing of its own, and all of the other one, once it has taken that over', () => {
    const property = fc.property(anyCommits, anyCommits, anyCommits, (before, other, tail) => {
      const fleet = new Fleet(boxRegistry());
      for (const changes of before) fleet.apply(fleet.revision + 1, changes);
      const loaded = new Fleet(boxRegistry());
      const naive = new NaiveFleet();
      for (const changes of other) loaded.apply(loaded.revision + 1, changes);
      fleet.replaceWith(loaded);
      for (const changes of tail) fleet.apply(fleet.revision + 1, changes);
      for (const changes of [...other, ...tail]) naive.apply(changes);
      expectSame(fleet, naive);
    });
    fc.assert(property);
  });

  it('lets a walk go on while the documents under it change', () => {
    const fleet = new Fleet(boxRegistry());
    const box = { colour: 'white', tags: ['red'], weight: 1 };
    fleet.apply(1, [
      { kind: 'box', id: 'a', doc: box },
      { kind: 'box', id: 'b', doc: box },
    ]);
    const seen: string[] = [];
    for (const { id } of fleet.find(BOXES_BY_TAG, 'red')) {
      seen.push(id);
      fleet.apply(fleet.revision + 1, [{ kind: 'box', id, doc: { ...box, tags: [] } }]);
    }
    expect(seen).toEqual(['a', 'b']);
  });

  it('names a kind or projection that is not registered', () => {
    const fleet = new Fleet(boxRegistry());
    expect(() => fleet.apply(1, [{ kind: 'crate', id: 'a', doc: {} }])).toThrow('kind "crate" is not registered');
    const other = { name: 'other', kinds: [], create: () => ({ apply: () => undefined }) };
    expect(() => fleet.projection(other)).toThrow('projection "other" is not registered');
  });
});
