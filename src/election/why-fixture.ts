// Why something was designated, for tests in which nobody reads it.
import type { Why } from './model.ts';

export function anyWhy(cause: Why['cause'] = 'asked-for'): Why {
  return { cause, candidates: [], candidatesInAll: 0, rejected: [], rejectedInAll: 0, atMs: 0 };
}
