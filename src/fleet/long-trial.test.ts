import { describe, expect, test } from 'vitest';
import { idOf, put } from './document.ts';
import { BOX, BOXES_BY_TAG, boxId, LID } from './fleet-fixture.ts';
import { Fleet } from './fleet.ts';
import { LongTrial } from './long-trial.ts';
import { Registry, type AppliedChange, type Forkable, type Projection } from './registry.ts';

/** How many boxes there are. */
class Boxes implements Forkable {
  count = 0;

  apply({ before, after }: AppliedChange): void {
    this.count += (after === undefined ? 0 : 1) - (before === undefined ? 0 : 1);
  }

  fork(): Boxes {
    const fork = new Boxes();
    fork.count = this.count;
    return fork;
  }
}

const BOXES: Projection<Boxes> = { name: 'boxes', kinds: ['box'], create: () => new Boxes() };

const box = (id: string) => put(BOX, boxId(id), { colour: 'white', tags: ['red'], weight: 1 });

function fleetOf(...ids: readonly string[]): Fleet {
  const fleet = new Fleet(new Registry([{ kinds: [BOX, LID], indexes: [BOXES_BY_TAG], projections: [BOXES] }]));
  fleet.apply(1, ids.map(box));
  return fleet;
}

describe('a long trial', () => {
  test('is-shown-by-a-fork-alone: the fleet never sees it', () => {
    const fleet = fleetOf('a');
    const trial = new LongTrial(fleet, ['box']);
    trial.add([box('b')]);
    // Forked after the first change, which it is given.
    expect(trial.projection(BOXES).count).toBe(2);
    trial.add([box('c')]);
    expect(trial.projection(BOXES).count).toBe(3);
    expect([...trial.find(BOXES_BY_TAG, 'red')].map(({ id }) => id)).toEqual(['a', 'b', 'c']);
    expect(fleet.projection(BOXES).count).toBe(1);
    expect(fleet.get(BOX, boxId('b'))).toBeUndefined();
  });

  test('follows-the-fleet-in-documents, not in what it forked', () => {
    const fleet = fleetOf('a');
    const trial = new LongTrial(fleet, ['box']);
    expect(trial.projection(BOXES).count).toBe(1);
    fleet.apply(2, [box('z')]);
    trial.rebase(fleet);
    expect(trial.get(BOX, boxId('z'))).toBeDefined();
    expect(trial.projection(BOXES).count).toBe(1);
    expect(trial.isOutdated).toBe(false);
  });

  test('a-fleet-that-is-loaded-anew-makes-it-outdated', () => {
    const fleet = fleetOf('a');
    const trial = new LongTrial(fleet, ['box']);
    expect(trial.projection(BOXES).count).toBe(1);
    trial.rebase(fleetOf('a'));
    expect(trial.isOutdated).toBe(true);
  });

  test('never: another kind is added, whose projections would follow it', () => {
    const trial = new LongTrial(fleetOf(), ['box']);
    expect(() => trial.add([put(LID, idOf(LID, 'l'), { box: 'a' })])).toThrow('cannot show a lid');
  });
});
