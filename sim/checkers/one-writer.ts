// Two holders never both commit: whatever the lease says, all commits of one epoch are one server's, and the epochs of commits never go
// back. Uses only what was accepted.
import type { Checker } from './checker.ts';

export const oneWriterPerEpoch: Checker = {
  name: 'never: two servers commit under one epoch',
  watch: (violated) => {
    const writers = new Map<number, string>();
    let newest = 0;
    return {
      onWrite: ({ entries }) => {
        for (const { fence, writer, commit } of entries) {
          const epoch = fence?.epoch ?? 0;
          const other = writers.get(epoch);
          if (other !== undefined && other !== writer)
            violated(`${writer} wrote ${commit.revision} under epoch ${epoch}, under which ${other} has written`);
          if (epoch < newest) violated(`${writer} wrote ${commit.revision} under epoch ${epoch} after epoch ${newest}`);
          writers.set(epoch, writer);
          newest = Math.max(newest, epoch);
        }
      },
    };
  },
};
