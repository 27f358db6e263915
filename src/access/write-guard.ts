// A write as one decision: the resource's guard, the module's own decision, and the kept answer, in one commit. Two equal
// requests at once are decided one after the other, so the second one finds the answer of the first.
import {
  idOf,
  put,
  type AnyDoc,
  type Change,
  type FleetReader,
  type Id,
  type Kind,
  type Stored,
} from '../fleet/index.ts';
import { accept, refuse, type Decision } from '../journal/index.ts';
import { noSuch } from './answer.ts';
import { packAnswer, unpackAnswer, type KeptContent } from './kept-answer.ts';
import { IDEMPOTENCY, keptUntilHour, type FormerKeptAnswer, type StoredAnswer } from './model.ts';
import { denyForeignNames } from './new-names.ts';
import type { Caller } from './role.ts';
import type { CommittedState, Answer, Write } from './route.ts';
import type { RedactorFor } from './redactor.ts';
import { findVisible } from './representation.ts';

const CREATED = 201;
const ACCEPTED = 202;

/** With a body of this length a key costs 300 bytes of the database file. */
const SHORT_BODY_LENGTH = 24;
/** Answers that are made of nothing else, such as what became of each host of a scale-in, are kept whole up to here; a document has 64 KiB at most. */
const KEPT_BODY_LENGTH_MAX = 20 * 1024;

/** A key and a request as digests; the second of each as earlier versions made them. */
export interface IdempotencyKey {
  readonly id: string;
  readonly requestDigest: string;
  readonly former: { readonly id: string; readonly request: string };
  /** The path of the request: the usual place of what it makes is below it. */
  readonly path: string;
  readonly nowMs: number;
}

export interface WriteGuard {
  readonly caller: Caller;
  /** The revision that If-Match names. */
  readonly ifMatch?: number | undefined;
  readonly idempotency?: IdempotencyKey | undefined;
  readonly redactorFor: RedactorFor;
}

/** What was answered before, and the revision of the commit that it was answered with. */
export interface ReplayedAnswer {
  readonly kind: 'repeated';
  readonly revision: number;
  readonly kept: StoredAnswer;
}

export type WriteOutcome = { readonly kind: 'written'; readonly answer: Answer } | ReplayedAnswer;

export function guardWrite(write: Write, guard: WriteGuard): (fleet: FleetReader) => Decision<WriteOutcome> {
  return (fleet) => {
    const kept = replay(fleet, guard);
    if (kept !== undefined) return kept;
    const barred = checkPreconditions(fleet, write, guard);
    if (barred !== undefined) return barred;
    const decision = write.decide(fleet);
    if (decision.kind === 'refuse') return decision;
    const { changes } = decision;
    const after = stateAfterCommit(fleet, changes, guard);
    const answer = write.answer({ result: decision.answer, after });
    return accept([...changes, ...keepAnswer(answer, { write, changes, after }, guard)], { kind: 'written', answer });
  };
}

function replay(fleet: FleetReader, { idempotency }: WriteGuard): Decision<WriteOutcome> | undefined {
  if (idempotency === undefined) return undefined;
  const { id, former, requestDigest } = idempotency;
  const stored = fleet.get(IDEMPOTENCY, idOf(IDEMPOTENCY, id)) ?? fleet.get(IDEMPOTENCY, idOf(IDEMPOTENCY, former.id));
  // However old: only retention forgets, by a clock that is trusted. By one that jumped, a request would be carried out twice.
  if (stored === undefined) return undefined;
  const { doc: kept, revision } = stored;
  const isSame = 'request' in kept ? kept.request === former.request : requestDigestOf(kept) === requestDigest;
  if (isSame) return accept([], { kind: 'repeated', revision, kept });
  const message =
    'This Idempotency-Key was used for another request. Use a new key, or repeat exactly the request it was made for.';
  return refuse({ kind: 'conflict', code: 'idempotency-key-reused', message });
}

function requestDigestOf(kept: Exclude<StoredAnswer, FormerKeptAnswer>): string {
  return 'kept' in kept ? unpackAnswer(kept.kept).of : kept.of;
}

interface Making {
  readonly write: Write;
  readonly changes: readonly Change[];
  readonly after: CommittedState;
}

function keepAnswer(answer: Answer, making: Making, { idempotency }: WriteGuard): Change[] {
  if (idempotency === undefined) return [];
  const { id, requestDigest: of, nowMs } = idempotency;
  const { status } = answer;
  const content = keptContentOf(answer, making);
  const kept = packAnswer({
    ...{ of, status, content },
    hasEtag: answer.etag !== undefined,
    untilHour: keptUntilHour(nowMs),
    secrets: Object.keys(answer.secrets ?? {}),
    // With a memo the route makes these again as well.
    ...(content.kind !== 'memo' && { location: keptLocationOf(answer, idempotency), type: answer.type }),
  });
  return [put(IDEMPOTENCY, idOf(IDEMPOTENCY, id), { kept })];
}

function keptContentOf(answer: Answer, making: Making): KeptContent {
  const { shown, text, body, memo } = answer;
  if (memo !== undefined && canRecompose(answer, making)) return { kind: 'memo', memo, ...revisionOf(shown) };
  if (shown !== undefined && memo === undefined) return composeKeptReference(shown, making);
  if (text !== undefined || body === undefined) return { kind: 'lost' };
  return composeKeptBody({ ...answer, body }, making);
}

/** Whether the route comes to the same answer with the memo alone. */
function canRecompose(answer: Answer, { write, after }: Making): boolean {
  const { memo = '', shown } = answer;
  if (shown !== undefined && !isTarget(shown, write)) return false;
  const stored = shown && after.get({ name: shown.kind } as Kind, shown.id as Id<string>);
  const again = write.recompose?.({ memo, shown: stored, redactor: after.redactor, operation: write.operation });
  return again !== undefined && isSameAnswer(again, answer);
}

function isSameAnswer(one: Answer, other: Answer): boolean {
  return describeAnswer(one) === describeAnswer(other);
}

function describeAnswer({ status, text, body, type, etag, headers }: Answer): string {
  return JSON.stringify([status, text ?? JSON.stringify(body), type, etag, headers?.['location']]);
}

function isTarget({ kind, id }: NonNullable<Answer['shown']>, { target }: Write): boolean {
  return target !== undefined && target.id === id && target.representation.kind.name === kind;
}

function revisionOf(shown: Answer['shown']): { readonly revision?: number } {
  return shown === undefined ? {} : { revision: shown.revision };
}

function composeKeptReference(shown: NonNullable<Answer['shown']>, { changes, write }: Making): KeptContent {
  const { kind, id, revision } = shown;
  const at = changes.findIndex((one) => one.kind === kind && one.id === id && one.doc !== null);
  if (at !== -1) return { kind: 'change', at };
  return isTarget(shown, write) ? { kind: 'target', revision } : { kind: 'shown', of: kind, id, revision };
}

function composeKeptBody(
  { status, body }: Answer & { readonly body: object },
  { write, changes }: Making,
): KeptContent {
  const { operation: started, ...rest } = body as { readonly operation?: unknown };
  // What a request began is in its commit: the answer is put together again from both.
  const isBegun = status === ACCEPTED && started !== undefined && started === write.operation;
  const kept = isBegun ? rest : body;
  const { length } = JSON.stringify(kept);
  const made = isBegun && length > SHORT_BODY_LENGTH ? composeKeptList(kept, changes) : undefined;
  if (made !== undefined) return made;
  return length > KEPT_BODY_LENGTH_MAX ? { kind: 'lost' } : { kind: 'body', body: kept, isBegun };
}

/** An answer with nothing but the ids of what the commit made, such as the instances of a request: the commit has them. */
function composeKeptList(body: object, changes: readonly Change[]): KeptContent | undefined {
  const [[field, ids] = [], ...others] = Object.entries(body) as [string, unknown][];
  if (field === undefined || others.length > 0 || !Array.isArray(ids)) return undefined;
  const kind = changes.find((one) => one.id === ids[0] && one.doc !== null)?.kind;
  if (kind === undefined) return undefined;
  const made = changes.filter((one) => one.kind === kind && one.doc !== null).map((one) => one.id);
  return JSON.stringify(made) === JSON.stringify(ids) ? { kind: 'made', field, of: kind } : undefined;
}

/** Undefined where it is the usual one. */
function keptLocationOf({ status, headers, shown, body }: Answer, { path }: IdempotencyKey): string | undefined {
  const { operation } = (body ?? {}) as { readonly operation?: string };
  const usual = usualLocation({ status, path, id: shown?.id, operation });
  const location = headers?.['location'];
  return location === usual ? undefined : (location ?? '');
}

/** Where a client finds what its request made or began, unless the answer says otherwise. */
export function usualLocation(made: {
  readonly status: number;
  readonly path: string;
  readonly id: string | undefined;
  readonly operation: string | undefined;
}): string | undefined {
  const { status, path, id, operation } = made;
  if (status === CREATED && id !== undefined) return `${path}/${id}`;
  return status === ACCEPTED && operation !== undefined ? `/api/v1/operations/${operation}` : undefined;
}

/** Why the request does not get as far as its own decision. */
function checkPreconditions(
  fleet: FleetReader,
  { target, creates }: Write,
  { caller, ifMatch }: WriteGuard,
): Decision<never> | undefined {
  const denied = creates === undefined ? undefined : denyForeignNames(fleet, caller, creates);
  if (denied !== undefined) return refuse(denied);
  if (target === undefined) return undefined;
  const representation = target.representation as unknown as Parameters<typeof findVisible>[1];
  const stored = findVisible(fleet, representation, { caller, id: target.id });
  if (stored === undefined && target.optional !== true)
    return refuse(noSuch(representation.kind.name, target.id, caller));
  if (ifMatch === undefined || stored?.revision === ifMatch) return undefined;
  const label = representation.kind.name.replaceAll('-', ' ');
  const message =
    stored === undefined
      ? `If-Match names revision ${ifMatch}, and there is no ${label} "${target.id}" now. Read it again and decide anew.`
      : `The ${label} "${target.id}" was changed since: it is at revision ${stored.revision}, not at ${ifMatch}. Read it again and decide anew.`;
  return refuse({
    kind: 'precondition',
    code: 'revision-mismatch',
    message,
    facts: { expected: ifMatch, ...(stored !== undefined && { actual: stored.revision }) },
  });
}

function stateAfterCommit(fleet: FleetReader, changes: readonly Change[], guard: WriteGuard): CommittedState {
  const commits = changes.length > 0 || guard.idempotency !== undefined;
  const revision = fleet.revision + (commits ? 1 : 0);
  return {
    revision,
    redactor: guard.redactorFor(guard.caller, fleet),
    get<K extends string, D extends AnyDoc>(kind: Kind<K, D>, id: Id<K>): Stored<K, D> | undefined {
      const change = changes.find((one) => one.kind === kind.name && one.id === id);
      if (change === undefined) return fleet.get(kind, id);
      return change.doc === null ? undefined : { id, revision, doc: change.doc as D };
    },
  };
}
