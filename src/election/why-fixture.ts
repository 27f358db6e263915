// The reason of a designation, for tests in which it does not matter.
import type { Why } from './model.ts';

export function anyWhy(cause: Why['cause'] = 'asked-for'): Why {
  return { cause, candidates: [], candidatesInAll: 0, rejected: [], rejectedInAll: 0, atMs: 0 };
}
