import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Change } from './document.ts';
import { anyCommits, BOX, BOXES_BY_TAG, boxId, boxRegistry, LID, TAGS, WEIGHTS } from './fleet-fixture.ts';
import { Fleet } from './fleet.ts';
import type { FleetReader } from './reader.ts';
import { Stage } from './stage.ts';

function fleetWith(commits: readonly (readonly Change[])[]): Fleet {
  const fleet = new Fleet(boxRegistry());
  for (const changes of commits) fleet.apply(fleet.revision + 1, changes);
  return fleet;
}

/** Every query of a reader. */
function readAll(reader: FleetReader): unknown {
  return {
    revision: reader.revision,
    boxes: [...reader.all(BOX)],
    lids: [...reader.all(LID)],
    counts: [reader.count(BOX), reader.count(LID)],
    gets: ['a', 'b', 'c', 'd', 'e', 'f'].map((id) => reader.get(BOX, boxId(id))),
    tagged: TAGS.map((tag) => [[...reader.find(BOXES_BY_TAG, tag)], reader.countOf(BOXES_BY_TAG, tag)]),
    weights: Object.fromEntries(reader.projection(WEIGHTS).byColour),
  };
}

describe('Stage', () => {
  it('answers every question as the fleet will once the group is applied', () => {
    const property = fc.property(anyCommits, anyCommits, (durable, staged) => {
      const stage = new Stage(fleetWith(durable));
      const after = fleetWith(durable);
      for (const changes of staged) {
        stage.add(changes);
        after.apply(after.revision + 1, changes);
        expect(readAll(stage)).toEqual(readAll(after));
      }
    });
    fc.assert(property, { numRuns: 300 });
  });

  it('never: a dropped stage leaves a trace, in documents, indexes or projections', () => {
    const property = fc.property(anyCommits, anyCommits, (durable, staged) => {
      const fleet = fleetWith(durable);
      const before = readAll(fleet);
      const stage = new Stage(fleet);
      for (const changes of staged) stage.add(changes);
      stage.rollback();
      expect(readAll(fleet)).toEqual(before);
      expect(readAll(stage)).toEqual(before);
    });
    fc.assert(property, { numRuns: 300 });
  });

  it('never: the durable documents and indexes show what is only staged', () => {
    const property = fc.property(anyCommits, anyCommits, (durable, staged) => {
      const fleet = fleetWith(durable);
      const shown = (): unknown => ({ ...(readAll(fleet) as object), weights: undefined });
      const before = shown();
      const stage = new Stage(fleet);
      for (const changes of staged) stage.add(changes);
      expect(shown()).toEqual(before);
    });
    fc.assert(property);
  });

  it('when kept, leaves the fleet as if each commit had been applied', () => {
    const property = fc.property(anyCommits, anyCommits, (durable, staged) => {
      const fleet = fleetWith(durable);
      const stage = new Stage(fleet);
      for (const changes of staged) stage.add(changes);
      const kept = stage.promote();
      const after = fleetWith(durable);
      const applied = staged.map((changes) => after.apply(after.revision + 1, changes));
      expect(readAll(fleet)).toEqual(readAll(after));
      expect(kept).toEqual(applied);
    });
    fc.assert(property, { numRuns: 300 });
  });

  it('on top of another answers as the fleet will once both are applied, before and after the first is kept', () => {
    const property = fc.property(anyCommits, anyCommits, anyCommits, fc.nat(), (durable, first, second, keptAfter) => {
      const fleet = fleetWith(durable);
      const below = new Stage(fleet);
      const after = fleetWith([...durable, ...first]);
      for (const changes of first) below.add(changes);
      const above = new Stage(below);
      const kept = keptAfter % (second.length + 1);
      for (const [at, changes] of second.entries()) {
        if (at === kept) below.promote();
        above.add(changes);
        after.apply(after.revision + 1, changes);
        expect(readAll(above)).toEqual(readAll(after));
      }
      if (kept === second.length) below.promote();
      above.promote();
      expect(readAll(fleet)).toEqual(readAll(after));
    });
    fc.assert(property, { numRuns: 300 });
  });

  it('never: a stage that falls leaves a trace of the one on top of it', () => {
    const property = fc.property(anyCommits, anyCommits, anyCommits, (durable, first, second) => {
      const fleet = fleetWith(durable);
      const before = readAll(fleet);
      const below = new Stage(fleet);
      for (const changes of first) below.add(changes);
      const between = readAll(below);
      const above = new Stage(below);
      for (const changes of second) above.add(changes);
      above.rollback();
      expect(readAll(below)).toEqual(between);
      const again = new Stage(below);
      for (const changes of second) again.add(changes);
      below.rollback();
      expect(readAll(fleet)).toEqual(before);
    });
    fc.assert(property, { numRuns: 300 });
  });

  it('never: the fleet takes over a stage before the one below it', () => {
    const box = { colour: 'white', tags: [], weight: 1 };
    const below = new Stage(fleetWith([]));
    below.add([{ kind: 'box', id: 'a', doc: box }]);
    const above = new Stage(below);
    above.add([{ kind: 'box', id: 'b', doc: box }]);
    expect(() => above.promote()).toThrow('the stage below is not kept');
  });

  it('says at which revision it shows a document', () => {
    const box = { colour: 'white', tags: [], weight: 1 };
    const stage = new Stage(fleetWith([[{ kind: 'box', id: 'a', doc: box }]]));
    stage.add([{ kind: 'box', id: 'b', doc: box }]);
    stage.add([{ kind: 'box', id: 'a', doc: null }]);
    expect(['a', 'b', 'c'].map((id) => stage.get(BOX, boxId(id))?.revision)).toEqual([undefined, 2, undefined]);
  });
});
