// The rooms' own invariants, after every commit that the disk accepts, on a fleet that follows the disk itself.
import { Fleet } from '../../src/fleet/index.ts';
import { changesOf } from '../world/ledger.ts';
import type { Checker } from './checker.ts';

export const invariants: Checker = {
  name: 'the invariants of the rooms',
  watch: (world) => {
    let fleet = new Fleet(world.registry);
    return {
      onWrite: (entries) => {
        for (const { commit } of entries) {
          // A power cut on a disk that lies takes revisions back: begin anew, other checkers will tell.
          if (commit.revision !== fleet.revision + 1) fleet = world.ledger.replay(world.registry, commit.revision - 1);
          const applied = fleet.apply(commit.revision, changesOf(commit));
          for (const { name, check } of world.registry.invariants) {
            const [broken] = check(fleet, applied);
            if (broken !== undefined) world.violate(name, `at ${commit.revision} by ${commit.by}: ${broken}`);
          }
        }
      },
    };
  },
};
