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
import { IDEMPOTENCY, keptUntilHour, type FormerKeptAnswer, type KeptAnswer } from './model.ts';
import { denyForeignNames } from './new-names.ts';
import type { Caller } from './role.ts';
import type { CommittedState, Answer, Write } from './route.ts';
import type { RedactorFor } from './redactor.ts';
import { findVisible } from './representation.ts';

const CREATED = 201;
const ACCEPTED = 202;

/** With a body of this length a key costs 300 bytes, in the log, in the table and in the index of what was touched. */
const SHORT_BODY_LENGTH = 24;
/** Answers that no commit has, such as what became of each host of a scale-in, are kept whole up to here; a document has 64 KiB at most. */
const KEPT_BODY_LENGTH_MAX = 20 * 1024;

/** A key and a request as digests; the second of each as versions before made them. */
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
  readonly kept: KeptAnswer | FormerKeptAnswer;
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
    const answer = write.answer(decision.answer, stateAfterCommit(fleet, decision.changes, guard));
    const changes = [...decision.changes, ...keepAnswer(answer, { ...write, changes: decision.changes }, guard)];
    return accept(changes, { kind: 'written', answer });
  };
}

function replay(fleet: FleetReader, { idempotency }: WriteGuard): Decision<WriteOutcome> | undefined {
  if (idempotency === undefined) return undefined;
  const { id, former, requestDigest } = idempotency;
  const stored = fleet.get(IDEMPOTENCY, idOf(IDEMPOTENCY, id)) ?? fleet.get(IDEMPOTENCY, idOf(IDEMPOTENCY, former.id));
  // However old: only retention forgets, by a clock that is trusted. By one that jumped, a request would be carried out twice.
  if (stored === undefined) return undefined;
  const { doc: kept, revision } = stored;
  const isSame = 'of' in kept ? kept.of === requestDigest : kept.request === former.request;
  if (isSame) return accept([], { kind: 'repeated', revision, kept });
  const message =
    'This Idempotency-Key was used for another request. Use a new key, or repeat exactly the request it was made for.';
  return refuse({ kind: 'conflict', code: 'idempotency-key-reused', message });
}

interface CommitContent {
  readonly changes: readonly Change[];
  /** The operation that the commit names. */
  readonly operation?: string | undefined;
}

function keepAnswer(answer: Answer, made: CommitContent, { idempotency }: WriteGuard): Change[] {
  if (idempotency === undefined) return [];
  const { id, requestDigest, nowMs } = idempotency;
  const secrets = Object.keys(answer.secrets ?? {});
  const doc: KeptAnswer = {
    of: requestDigest,
    status: answer.status,
    untilHour: keptUntilHour(nowMs),
    ...keptContentOf(answer, made),
    ...keptLocationOf(answer, idempotency),
    ...(secrets.length > 0 && { secrets }),
  };
  return [put(IDEMPOTENCY, idOf(IDEMPOTENCY, id), doc)];
}

function keptContentOf(
  { status, shown, text, body, type }: Answer,
  { changes, operation }: CommitContent,
): Partial<KeptAnswer> {
  if (shown !== undefined) {
    const { kind, id, revision } = shown;
    const change = changes.findIndex((one) => one.kind === kind && one.id === id && one.doc !== null);
    return change === -1 ? { shown: [kind, id, revision] } : { change };
  }
  if (text !== undefined || body === undefined) return {};
  const { operation: started, ...rest } = body as { readonly operation?: unknown };
  // What a request began is in its commit: the answer is put together again from both.
  const isStarted = status === ACCEPTED && started !== undefined && started === operation;
  const kept = isStarted ? rest : body;
  const { length } = JSON.stringify(kept);
  const made = isStarted && length > SHORT_BODY_LENGTH ? keptCreatedList(kept, changes) : undefined;
  if (made !== undefined) return made;
  if (length > KEPT_BODY_LENGTH_MAX) return {};
  return { body: kept, ...(isStarted && { begun: true }), ...(type !== undefined && { type }) };
}

/** An answer with nothing but the ids of what the commit made, such as the instances of a request: the commit has them. */
function keptCreatedList(body: object, changes: readonly Change[]): Partial<KeptAnswer> | undefined {
  const [[field, ids] = [], ...others] = Object.entries(body) as [string, unknown][];
  if (field === undefined || others.length > 0 || !Array.isArray(ids)) return undefined;
  const kind = changes.find((one) => one.id === ids[0] && one.doc !== null)?.kind;
  if (kind === undefined) return undefined;
  const made = changes.filter((one) => one.kind === kind && one.doc !== null).map((one) => one.id);
  return JSON.stringify(made) === JSON.stringify(ids) ? { made: [field, kind] } : undefined;
}

function keptLocationOf({ status, headers, shown, body }: Answer, { path }: IdempotencyKey): Partial<KeptAnswer> {
  const { operation } = (body ?? {}) as { readonly operation?: string };
  const usual = usualLocation({ status, path, id: shown?.id, operation });
  const location = headers?.['location'];
  return location === usual ? {} : { location: location ?? '' };
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
