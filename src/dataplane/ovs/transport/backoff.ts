// How long to wait before a daemon is tried again.
import type { BackoffPolicy } from '../../../journal/index.ts';

export const DAEMON_BACKOFF: BackoffPolicy = {
  // A daemon that is restarted is back within a second.
  firstMs: 100,
  // A host whose switch is down has nothing else to do, but need not fill its log either.
  longestMs: 5000,
};
