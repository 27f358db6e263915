// The changes since a commit, identified by its object: a revision may be given twice when a group fails.
import { describe, expect, test } from 'vitest';
import { put, type Change } from './document.ts';
import { Fleet } from './fleet.ts';
import { SETTING } from './setting.ts';
import { LongTrial } from './long-trial.ts';
import { CHANGES_KEPT_MAX, changesSince, newestCommit } from './recent-commits.ts';
import { Registry } from './registry.ts';
import { Stage } from './stage.ts';

const change = (name: string, value = 1): Change =>
  put(SETTING, name as never, { value, changedBy: 'test', changedAtMs: 0 });
const newFleet = (): Fleet => new Fleet(new Registry([{ kinds: [SETTING] }]));
const idsIn = (changes: ReturnType<typeof changesSince>): string[] | undefined =>
  changes?.map(({ before, after }) => (after ?? before)?.id ?? '');

describe('changes since a commit', () => {
  test('before-the-first-commit: all of them', () => {
    const fleet = newFleet();
    const since = newestCommit(fleet);
    expect(changesSince(fleet, since)).toEqual([]);
    fleet.apply(1, [change('a'), change('b')]);
    expect(idsIn(changesSince(fleet, since))).toEqual(['a', 'b']);
  });

  test('staged-ones-count, and are the same when they are kept', () => {
    const fleet = newFleet();
    fleet.apply(1, [change('a')]);
    const since = newestCommit(fleet);
    const stage = new Stage(fleet);
    stage.add([change('b')]);
    const above = new Stage(stage);
    above.add([change('c')]);
    expect(idsIn(changesSince(above, since))).toEqual(['c', 'b']);
    const staged = newestCommit(stage);
    stage.promote();
    expect(idsIn(changesSince(above, staged))).toEqual(['c']);
    expect(changesSince(fleet, staged)).toEqual([]);
  });

  test('never: what was dropped is taken for what has its revision now', () => {
    const fleet = newFleet();
    fleet.apply(1, [change('a')]);
    const stage = new Stage(fleet);
    stage.add([change('b', 1)]);
    const dropped = newestCommit(new LongTrial(stage, []));
    stage.rollback();
    fleet.apply(2, [change('b', 2)]);
    expect(changesSince(fleet, dropped)).toBeUndefined();
  });

  test('what-is-too-long-ago-cannot-be-told', () => {
    const fleet = newFleet();
    const since = newestCommit(fleet);
    const many = Array.from({ length: 1000 }, (_, nth) => change(`s${nth}`));
    const commits = (2 * CHANGES_KEPT_MAX) / 1000;
    for (let nth = 1; nth <= commits; nth += 1) fleet.apply(nth, many);
    expect(changesSince(fleet, since)).toHaveLength(2 * CHANGES_KEPT_MAX);
    const late = newestCommit(fleet);
    fleet.apply(commits + 1, [change('x')]);
    expect(changesSince(fleet, since)).toBeUndefined();
    expect(idsIn(changesSince(fleet, late))).toEqual(['x']);
  });

  test('a-fleet-that-was-loaded-anew-knows-nothing-of-before', () => {
    const fleet = newFleet();
    fleet.apply(1, [change('a')]);
    const since = newestCommit(fleet);
    fleet.replaceWith(newFleet());
    expect(changesSince(fleet, since)).toBeUndefined();
  });
});
