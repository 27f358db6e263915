// The usual answers: one resource, a resource that a write has left, what is not there.
import type { AnyDoc, Fleet, Id, Refusal } from '../fleet/index.ts';
import type { CommittedState, Answer, HandlerResult, Call, RefusalAnswer } from './route.ts';
import type { Redactor } from './redactor.ts';
import { findVisible, type StoredDocument, type Representation } from './representation.ts';
import { isBound, type Caller } from './role.ts';

export function answer(body: object, status = 200): Answer {
  return { kind: 'answer', status, body };
}

interface RenderOptions {
  readonly sight: Redactor | undefined;
  readonly status?: number | undefined;
}

function renderResource<D extends AnyDoc>(
  representation: Representation<string, D>,
  stored: StoredDocument<D>,
  { sight, status = 200 }: RenderOptions,
): Answer {
  return {
    kind: 'answer',
    status,
    text: representation.toJsonText(stored, sight),
    etag: stored.revision,
    shown: documentRef(representation, stored),
  };
}

/** For answers that are the text of one document. */
export function documentRef<D extends AnyDoc>(
  representation: Representation<string, D>,
  { id, revision }: StoredDocument<D>,
): NonNullable<Answer['shown']> {
  return { kind: representation.kind.name, id, revision };
}

/** The resource after the commit of the route. */
export function renderCommitted<K extends string, D extends AnyDoc>(
  representation: Representation<K, D>,
  after: CommittedState,
  wanted: { readonly id: string; readonly status?: number; readonly location?: string },
): Answer {
  const stored = after.get(representation.kind, wanted.id as Id<K>);
  if (stored === undefined)
    throw new Error(`${representation.kind.name}/${wanted.id} is not there after its own commit`);
  const shown = renderResource(representation, stored, { sight: after.redactor, status: wanted.status });
  return wanted.location === undefined ? shown : { ...shown, headers: { location: wanted.location } };
}

/** Where the list of a kind is not the command of its plural, or where there is no such command, the request for it. */
const LISTED_BY: Readonly<Record<string, string>> = {
  alarm: 'muster alarms',
  'drain-report': 'muster workers drains list',
  item: 'muster operations list',
  manager: 'muster baremetal managers list',
  inventory: 'muster baremetal inventories list',
  'network-event': 'GET /api/v1/network-events',
  node: 'muster baremetal nodes list',
  reservation: 'muster baremetal reservations list',
  'simulated-call': 'GET /api/v1/simulated-inventory/calls',
  'simulated-fault': 'GET /api/v1/simulated-inventory/faults',
  token: 'muster token list',
};

/** What lists all that there is of a kind. */
function listCommand(kind: string): string {
  return LISTED_BY[kind] ?? `muster ${kind}${kind.endsWith('s') ? 'es' : 's'} list`;
}

/** Without a caller, one who sees everything. For others there is no difference between what does not exist and what they may not see. */
export function noSuch(kind: string, id: string, caller?: Caller): Refusal {
  const label = kind.replaceAll('-', ' ');
  const message =
    caller !== undefined && isBound(caller)
      ? `There is no ${label} "${id}" that your token may see. "${listCommand(kind)}" lists those that it may.`
      : `There is no ${label} "${id}". List them with "${listCommand(kind)}".`;
  return { kind: 'not-found', code: `${kind}-not-found`, message, facts: { kind, id } };
}

/** GET of one resource. */
export function readResource<K extends string, D extends AnyDoc>(
  fleet: Fleet,
  representation: Representation<K, D>,
  call: Call<{ readonly id: string }>,
  sight: Redactor | undefined,
): HandlerResult {
  const stored = findVisible(fleet, representation, { caller: call.caller, id: call.params.id });
  return stored === undefined
    ? refusalAnswer(noSuch(representation.kind.name, call.params.id, call.caller))
    : renderResource(representation, stored, { sight });
}

const CONFLICT = 409;

/** What is refused at odds with the state, and changed something all the same: the form is that of every other problem. */
export function problemAnswer(
  { code, message, facts }: Pick<Refusal, 'code' | 'message' | 'facts'>,
  requestId: string,
): Answer {
  const body = {
    ...facts,
    type: `urn:muster:problem:${code}`,
    title: 'Conflict',
    status: CONFLICT,
    detail: message,
    code,
    requestId,
  };
  return { kind: 'answer', status: CONFLICT, type: 'application/problem+json; charset=utf-8', body };
}

export function refusalAnswer(refusal: Refusal): RefusalAnswer {
  return { kind: 'refuse', refusal };
}
