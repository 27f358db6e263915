// The journal is one order for all servers: no gap, no fork, no server ahead of the disk.
import type { Checker } from './checker.ts';

export const journalOrder: Checker = {
  name: 'never: a gap or a fork in the order of commits',
  watch: (violated, world) => {
    const seen = new WeakMap<object, number>();
    return {
      onWrite: ({ claimed }) => {
        if (claimed !== world.ledger.head) violated(`the database says ${claimed}, its head is ${world.ledger.head}`);
      },
      onRebuilt: (life) => seen.set(life, life.journal.fleet.revision),
      onCommit: ({ life, commit }) => {
        const who = life.program.name;
        const before = seen.get(life);
        if (before !== undefined && commit.revision !== before + 1) {
          violated(`${who} saw ${commit.revision} after ${before}`);
        }
        seen.set(life, commit.revision);
        const written = world.ledger.at(commit.revision)?.commit;
        if (written?.id !== commit.id) {
          violated(`${who} has ${commit.id} at ${commit.revision}, the disk has ${written?.id ?? 'nothing'}`);
        }
      },
    };
  },
};
