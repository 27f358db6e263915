// A lease has one holder at a time: it is acquired only after it expired, was released, or its holder's session ended, and each acquisition
// is a new epoch.
import type { Checker } from './checker.ts';

export const leaseExclusive: Checker = {
  name: 'never: two holders of one lease, or an epoch twice',
  watch: (violated) => ({
    onLease: ({ before, after, asker, hadSession }) => {
      if (before === undefined || after === undefined) return;
      const text = `${asker} changed ${before.holder}/${before.epoch} to ${after.holder}/${after.epoch}`;
      if (after.epoch < before.epoch) violated(`${text}: the epoch went back`);
      if (after.epoch === before.epoch) {
        if (after.holder !== before.holder) violated(`${text}: the epoch did not grow`);
        if (before.expiresInMs <= 0 && after.expiresInMs > 0) violated(`${text}: a lease that had run out was renewed`);
      } else if (before.expiresInMs > 0 && hadSession)
        violated(`${text}: it was good for ${before.expiresInMs} ms more`);
    },
  }),
};
