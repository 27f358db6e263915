// Deciding a group: one request after the other, each on the fleet plus what the ones before it staged. A request that
// is refused, or whose code fails, stages nothing and does not concern the others.
import { isId, Stage, type Change, type Fleet, type Refusal } from '../fleet/index.ts';
import { InvalidDocument, type Decision, type Outcome, type Request } from './request.ts';
import type { Batch, Precondition, TextChange } from './store.ts';
import { toText, tooLarge } from './text.ts';

/** A request that waits for its answer. */
export interface Pending {
  readonly request: Request<unknown>;
  readonly atMs: number;
  readonly resolve: (outcome: Outcome<unknown>) => void;
  readonly reject: (error: unknown) => void;
}

/** How a pending request will be answered once the group is durable. */
export interface Decided {
  readonly pending: Pending;
  readonly settle: () => void;
  /** Set when the request makes a commit: what is written, and the same changes as documents. */
  readonly commit?: { readonly batch: Batch; readonly changes: readonly Change[] };
}

export interface DecidedGroup {
  readonly stage: Stage;
  readonly decided: readonly Decided[];
  readonly batches: readonly Batch[];
}

export function decideGroup(fleet: Fleet, group: readonly Pending[], newCommitId: () => string): DecidedGroup {
  const stage = new Stage(fleet);
  const batches: Batch[] = [];
  const decided = group.map((pending): Decided => {
    const decision = decideOne(stage, fleet, pending);
    if (decision.kind === 'failed') return { pending, settle: () => pending.reject(decision.error) };
    const { revision } = stage;
    if (decision.kind === 'refuse') {
      const { refusal } = decision;
      return { pending, settle: () => pending.resolve({ kind: 'refused', revision, refusal }) };
    }
    const settle = (): void => pending.resolve({ kind: 'accepted', revision, answer: decision.answer });
    if (decision.staged === undefined) return { pending, settle };
    const batch = { ...decision.staged.batch, id: newCommitId() };
    batches.push(batch);
    return { pending, settle, commit: { batch, changes: decision.staged.changes } };
  });
  return { stage, decided, batches };
}

interface Staged {
  readonly batch: Omit<Batch, 'id'>;
  readonly changes: readonly Change[];
}

type Tried =
  | { readonly kind: 'accept'; readonly answer: unknown; readonly staged?: Staged }
  | { readonly kind: 'refuse'; readonly refusal: Refusal }
  | { readonly kind: 'failed'; readonly error: unknown };

function decideOne(stage: Stage, fleet: Fleet, { request, atMs }: Pending): Tried {
  let decision: Decision<unknown>;
  let changes: readonly TextChange[];
  try {
    decision = request.decide(stage);
    if (decision.kind === 'refuse') return decision;
    if (decision.changes.length === 0) return { kind: 'accept', answer: decision.answer };
    checkDocuments(fleet, decision.changes);
    changes = decision.changes.map(toText);
  } catch (error) {
    // A bug in one request's code fails that request; the rest of the group goes on.
    return { kind: 'failed', error };
  }
  const large = changes.find((change) => change.body !== null && tooLarge(change.body));
  if (large !== undefined) return { kind: 'refuse', refusal: documentTooLarge(large.kind, large.id) };
  const preconditions = decision.changes.map((change) => asRead(stage, change));
  stage.add(decision.changes);
  const { by, why, operation } = request;
  const note = { atMs, by, ...(why !== undefined && { why }), ...(operation !== undefined && { operation }) };
  const staged = { batch: { ...note, changes, preconditions }, changes: decision.changes };
  return { kind: 'accept', answer: decision.answer, staged };
}

function checkDocuments(fleet: Fleet, changes: readonly Change[]): void {
  const seen = new Set<string>();
  for (const change of changes) {
    const kind = fleet.registry.kinds.get(change.kind);
    const key = `${change.kind}/${change.id}`;
    if (kind === undefined) throw new InvalidDocument(change, 'its kind is not registered');
    if (!isId(change.id)) throw new InvalidDocument(change, 'its id has a form that is not allowed');
    if (seen.has(key)) throw new InvalidDocument(change, 'the commit changes it twice');
    seen.add(key);
    const problem = change.doc === null ? undefined : kind.check(change.doc);
    if (problem !== undefined) throw new InvalidDocument(change, problem);
  }
}

/** What the decision read is what the commit must find. */
function asRead(stage: Stage, change: Change): Precondition {
  const resource = [change.kind, change.id] as const;
  const revision = stage.revisionOf(change.kind, change.id);
  return revision === undefined ? { kind: 'absent', resource } : { kind: 'at', resource, revision };
}

function documentTooLarge(kind: string, id: string): Refusal {
  const message = `The document ${kind}/${id} would be larger than 64 KiB. Make it smaller, for example with shorter lists.`;
  return { kind: 'limit', code: 'document-too-large', message };
}
