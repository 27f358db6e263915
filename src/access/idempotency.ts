// A write as one decision: the resource's guard, the room's own decision, and the kept answer, in one commit. Two equal
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
import { IDEMPOTENCY, IDEMPOTENCY_KEPT_MS } from './model.ts';
import type { Caller } from './role.ts';
import type { After, Answer, Write } from './route.ts';
import { seen } from './view.ts';

/** Leaves room for the rest of a document of at most 64 KiB, at 3 bytes for each character of the text inside a text. */
const KEPT_ANSWER_LENGTH_MAX = 20 * 1024;

export interface Guard {
  readonly caller: Caller;
  /** The revision that If-Match names. */
  readonly ifMatch?: number | undefined;
  readonly idempotency?: { readonly id: string; readonly request: string; readonly nowMs: number } | undefined;
}

export interface Written {
  readonly answer: Answer;
  readonly replayed: boolean;
}

export function guarded(write: Write, guard: Guard): (fleet: FleetReader) => Decision<Written> {
  return (fleet) => {
    const kept = replay(fleet, guard);
    if (kept !== undefined) return kept;
    const barred = barrier(fleet, write, guard);
    if (barred !== undefined) return barred;
    const decision = write.decide(fleet);
    if (decision.kind === 'refuse') return decision;
    const answer = write.answer(decision.answer, stateAfter(fleet, decision.changes, guard));
    const changes = [...decision.changes, ...keep(answer, guard)];
    return accept(changes, { answer, replayed: false });
  };
}

function replay(fleet: FleetReader, { idempotency }: Guard): Decision<Written> | undefined {
  if (idempotency === undefined) return undefined;
  const kept = fleet.get(IDEMPOTENCY, idOf(IDEMPOTENCY, idempotency.id));
  if (kept === undefined || kept.doc.expiresAtMs <= idempotency.nowMs) return undefined;
  const { doc } = kept;
  if (doc.request !== idempotency.request) {
    const message =
      'This Idempotency-Key was used for another request. Use a new key, or repeat exactly the request it was made for.';
    return refuse({ kind: 'conflict', code: 'idempotency-key-reused', message });
  }
  return accept([], {
    replayed: true,
    answer: { kind: 'answer', status: doc.status, text: bodyOf(doc), headers: doc.headers },
  });
}

interface Kept {
  readonly body?: string;
  readonly secrets: readonly string[];
}

function bodyOf({ body, secrets }: Kept): string {
  const lost = {
    note: 'The first answer was too large to keep. The request was carried out; read the resource instead.',
  };
  const shown = body === undefined ? lost : (JSON.parse(body) as object);
  if (secrets.length === 0) return JSON.stringify(shown);
  const note = `The request was carried out before. ${secrets.join(', ')} was shown then and is not kept; if it is lost, revoke and make another.`;
  return JSON.stringify({ ...shown, note });
}

function keep(answer: Answer, { idempotency }: Guard): Change[] {
  if (idempotency === undefined) return [];
  const body = answer.text ?? JSON.stringify(answer.body ?? {});
  const headers = { ...answer.headers, ...(answer.etag !== undefined && { etag: `"${answer.etag}"` }) };
  const doc = {
    request: idempotency.request,
    status: answer.status,
    ...(JSON.stringify(body).length <= KEPT_ANSWER_LENGTH_MAX && { body }),
    headers,
    secrets: Object.keys(answer.secrets ?? {}),
    expiresAtMs: idempotency.nowMs + IDEMPOTENCY_KEPT_MS,
  };
  return [put(IDEMPOTENCY, idOf(IDEMPOTENCY, idempotency.id), doc)];
}

/** Why the request does not get as far as its own decision. */
function barrier(fleet: FleetReader, { target }: Write, { caller, ifMatch }: Guard): Decision<never> | undefined {
  if (target === undefined) return undefined;
  const view = target.view as unknown as Parameters<typeof seen>[1];
  const stored = seen(fleet, view, { caller, id: target.id });
  if (stored === undefined && target.optional !== true) return refuse(noSuch(view.kind.name, target.id));
  if (ifMatch === undefined || stored?.revision === ifMatch) return undefined;
  const actual = stored === undefined ? 'not there' : `at revision ${stored.revision}`;
  const message = `The ${view.kind.name} was changed since: it is ${actual}, not at ${ifMatch}. Read it again and decide anew.`;
  return refuse({
    kind: 'precondition',
    code: 'revision-mismatch',
    message,
    facts: { expected: ifMatch, ...(stored !== undefined && { actual: stored.revision }) },
  });
}

function stateAfter(fleet: FleetReader, changes: readonly Change[], guard: Guard): After {
  const commits = changes.length > 0 || guard.idempotency !== undefined;
  const revision = fleet.revision + (commits ? 1 : 0);
  return {
    revision,
    get<K extends string, D extends AnyDoc>(kind: Kind<K, D>, id: Id<K>): Stored<K, D> | undefined {
      const change = changes.find((one) => one.kind === kind.name && one.id === id);
      if (change === undefined) return fleet.get(kind, id);
      return change.doc === null ? undefined : { id, revision, doc: change.doc as D };
    },
  };
}
