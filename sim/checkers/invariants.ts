// The modules' own invariants, after every commit that the disk accepts, on a fleet that follows the disk itself.
import type { Checker } from './checker.ts';

export const invariants: Checker = {
  name: 'the invariants of the modules',
  watch: (_violated, world) => ({
    onApplied: ({ truth, applied, entry: { commit } }) => {
      for (const { name, check } of world.registry.invariants) {
        const [broken] = check(applied, truth);
        if (broken !== undefined) world.violate(name, `at ${commit.revision} by ${commit.by}: ${broken}`);
      }
    },
  }),
};
