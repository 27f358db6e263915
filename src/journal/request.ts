// Requests to the journal, and their answers.
import type { Change, FleetReader, Refusal } from '../fleet/index.ts';
import { StoreUnavailable, type CommitNote } from './store.ts';

export type Decision<A> =
  /** No changes means: nothing to do, and this is the answer. */
  | { readonly kind: 'accept'; readonly changes: readonly Change[]; readonly answer: A }
  | { readonly kind: 'refuse'; readonly refusal: Refusal };

export function accept<A>(changes: readonly Change[], answer: A): Decision<A> {
  return { kind: 'accept', changes, answer };
}

export function refuse(refusal: Refusal): Decision<never> {
  return { kind: 'refuse', refusal };
}

/**
 * A request to change the fleet. `decide` is pure and may run more than once: when a group fails, its requests are
 * decided again on what is true then. Times and ids are captured before.
 */
export interface Request<A> {
  readonly by: string;
  readonly why?: string;
  readonly operation?: string;
  readonly decide: (fleet: FleetReader) => Decision<A>;
  /**
   * The authorisation of the caller, checked on the fleet that the request is decided on and at that time. It runs before
   * `decide` and as often. Absent for what the control plane does of its own accord.
   */
  readonly authorize?: (fleet: FleetReader, nowMs: number) => Refusal | undefined;
}

export type Outcome<A> =
  | { readonly kind: 'accepted'; readonly revision: number; readonly answer: A }
  | { readonly kind: 'refused'; readonly revision: number; readonly refusal: Refusal };

/** A durable commit, parsed. */
export interface Commit extends CommitNote {
  readonly revision: number;
  readonly changes: readonly Change[];
}

/** This server does not hold the deciding lease (any more). Nothing was written; send the request to the holder. */
export class NotHolder extends Error {
  readonly code = 'not-holder';
  readonly retryable = true;

  constructor() {
    super('this server does not hold the deciding lease');
    this.name = 'NotHolder';
  }
}

/** Nothing could be decided here now, through no fault of the request: another server holds the lease, or the store does not answer. */
export function isJournalAway(error: unknown): error is NotHolder | StoreUnavailable {
  return error instanceof NotHolder || error instanceof StoreUnavailable;
}

/** Our own code made a document that its kind does not allow. A bug: it fails the request, not the server. */
export class InvalidDocument extends Error {
  readonly code = 'invalid-document';
  readonly retryable = false;

  constructor(change: Change, problem: string) {
    super(`${change.kind}/${change.id} is not a valid document: ${problem}`);
    this.name = 'InvalidDocument';
  }
}
