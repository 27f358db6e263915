// Deciding a group: one request after the other, each on the fleet plus what the ones before it staged, in this group and
// in the one that is being written. A request that is refused, or whose code fails, stages nothing and does not concern
// the others.
import { isId, Stage, type Change, type Fleet, type Refusal, type Stored } from '../fleet/index.ts';
import { InvalidDocument, type Commit, type Decision, type Outcome, type Request } from './request.ts';
import type { CommitBatch, CommitNote, Precondition, TextChange } from './store.ts';
import { toText, isTooLarge } from './document-text.ts';

/** A request that waits for its answer. */
export interface PendingRequest {
  readonly request: Request<unknown>;
  readonly atMs: number;
  readonly resolve: (outcome: Outcome<unknown>) => void;
  readonly reject: (error: unknown) => void;
}

/** How a pending request will be answered once the group is durable. */
export interface DecidedRequest {
  readonly pending: PendingRequest;
  readonly settle: () => void;
  /** Set when the request makes a commit: what it will be once it is durable. */
  readonly commit?: Commit;
}

/** What deciding needs besides the requests. */
export interface DecisionContext {
  /** The time of the decision, which may be long after the request came. */
  readonly nowMs: number;
  readonly newCommitId: () => string;
}

/** A group as far as it is decided. Requests are added until it is handed to the store. */
export class DecidedGroup {
  readonly stage: Stage;
  /** The revision that it was decided on. */
  readonly head: number;
  readonly #fleet: Fleet;
  readonly #decided: DecidedRequest[] = [];
  readonly #batches: CommitBatch[] = [];

  /** `before` is the group that is being written, if there is one. */
  constructor(fleet: Fleet, before: DecidedGroup | undefined) {
    this.#fleet = fleet;
    this.stage = new Stage(before?.stage ?? fleet);
    this.head = this.stage.revision;
  }

  get decided(): readonly DecidedRequest[] {
    return this.#decided;
  }

  get batches(): readonly CommitBatch[] {
    return this.#batches;
  }

  /** The requests that it answers, in order. */
  get requests(): readonly PendingRequest[] {
    return this.#decided.map(({ pending }) => pending);
  }

  /** Decides them in order until `isOver`, and at least one. Answers how many. */
  add(
    requests: readonly PendingRequest[],
    { nowMs, newCommitId }: DecisionContext,
    isOver: () => boolean = () => false,
  ): number {
    let decided = 0;
    for (const pending of requests) {
      const tried = decideOne(this.stage, this.#fleet, pending, nowMs);
      this.#decided.push(this.#answerTo(pending, tried, newCommitId));
      decided += 1;
      if (isOver()) break;
    }
    return decided;
  }

  #answerTo(pending: PendingRequest, decision: DecisionAttempt, newCommitId: () => string): DecidedRequest {
    if (decision.kind === 'failed') return { pending, settle: () => pending.reject(decision.error) };
    const { revision } = this.stage;
    if (decision.kind === 'refuse') {
      const { refusal } = decision;
      return { pending, settle: () => pending.resolve({ kind: 'refused', revision, refusal }) };
    }
    const { answer, staged } = decision;
    const settle = (): void => pending.resolve({ kind: 'accepted', revision, answer });
    if (staged === undefined) return { pending, settle };
    const note = noteOf(newCommitId(), pending);
    this.#batches.push({ ...note, changes: staged.texts, preconditions: staged.preconditions });
    return { pending, settle, commit: { ...note, changes: staged.changes, revision } };
  }
}

interface StagedCommit {
  readonly changes: readonly Change[];
  readonly texts: readonly TextChange[];
  readonly preconditions: readonly Precondition[];
}

type DecisionAttempt =
  | { readonly kind: 'accept'; readonly answer: unknown; readonly staged?: StagedCommit }
  | { readonly kind: 'refuse'; readonly refusal: Refusal }
  | { readonly kind: 'failed'; readonly error: unknown };

function decideOne(stage: Stage, fleet: Fleet, { request }: PendingRequest, nowMs: number): DecisionAttempt {
  let decision: Decision<unknown>;
  let texts: readonly TextChange[];
  try {
    const denial = request.authorize?.(stage, nowMs);
    if (denial !== undefined) return { kind: 'refuse', refusal: denial };
    decision = request.decide(stage);
    if (decision.kind === 'refuse') return decision;
    if (decision.changes.length === 0) return { kind: 'accept', answer: decision.answer };
    checkDocuments(fleet, decision.changes);
    texts = decision.changes.map(toText);
  } catch (error) {
    // A bug in one request's code fails that request; the rest of the group is decided all the same.
    return { kind: 'failed', error };
  }
  const large = texts.find((change) => change.body !== null && isTooLarge(change.body));
  if (large !== undefined) return { kind: 'refuse', refusal: documentTooLarge(large.kind, large.id) };
  const { answer, changes } = decision;
  const preconditions = stage.add(changes).map(({ before }, nth) => preconditionOf(changes[nth] as Change, before));
  return { kind: 'accept', answer, staged: { changes, texts, preconditions } };
}

function noteOf(id: string, { request, atMs }: PendingRequest): CommitNote {
  const { by, why, operation } = request;
  if (why === undefined) return operation === undefined ? { id, atMs, by } : { id, atMs, by, operation };
  return operation === undefined ? { id, atMs, by, why } : { id, atMs, by, why, operation };
}

function checkDocuments(fleet: Fleet, changes: readonly Change[]): void {
  const repeated = findRepeatedChange(changes);
  if (repeated !== undefined) throw new InvalidDocument(repeated, 'the commit changes it twice');
  for (const change of changes) {
    const kind = fleet.registry.kinds.get(change.kind);
    if (kind === undefined) throw new InvalidDocument(change, 'its kind is not registered');
    if (!isId(change.id)) throw new InvalidDocument(change, 'its id has a form that is not allowed');
    const problem = change.doc === null ? undefined : kind.check(change.doc);
    if (problem !== undefined) throw new InvalidDocument(change, problem);
  }
}

/** Up to so many changes are compared with each other: that is sooner done than a key is made for each. */
const COMPARED_MAX = 16;

/** The first change of a document that an earlier one changes too. */
function findRepeatedChange(changes: readonly Change[]): Change | undefined {
  if (changes.length <= COMPARED_MAX) {
    return changes.find(({ kind, id }, nth) => {
      for (let at = 0; at < nth; at += 1) if (changes[at]?.id === id && changes[at]?.kind === kind) return true;
      return false;
    });
  }
  const seen = new Set<string>();
  return changes.find(({ kind, id }, nth) => seen.add(`${kind}/${id}`).size === nth);
}

/** What the decision read is what the commit must find. */
function preconditionOf({ kind, id }: Change, before: Stored | undefined): Precondition {
  const resource = [kind, id] as const;
  return before === undefined ? { kind: 'absent', resource } : { kind: 'at', resource, revision: before.revision };
}

function documentTooLarge(kind: string, id: string): Refusal {
  const message = `The document ${kind}/${id} would be larger than 64 KiB. Make it smaller, for example with shorter lists.`;
  return { kind: 'limit', code: 'document-too-large', message };
}
