export { Journal } from './journal.ts';
export type { JournalOptions } from './journal.ts';
export type { Clock, Ids } from './ports.ts';
export { accept, NotHolder, refuse } from './request.ts';
export type { Commit, Decision, Outcome, Request } from './request.ts';
export { StoreUnavailable, StoreUnusable } from './store.ts';
export type * from './store.ts';
export type { WatchEvent } from './watch.ts';
