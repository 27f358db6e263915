// The usual answers: one resource, a resource that a write has left, what is not there.
import type { AnyDoc, Fleet, Id, Refusal } from '../fleet/index.ts';
import type { After, Answer, Answered, Call, Refused } from './route.ts';
import type { Sight } from './sight.ts';
import { seen, type Shown, type View } from './view.ts';

export function answer(body: object, status = 200): Answer {
  return { kind: 'answer', status, body };
}

interface Rendering {
  readonly sight: Sight | undefined;
  readonly status?: number | undefined;
}

function resource<D extends AnyDoc>(
  view: View<string, D>,
  stored: Shown<D>,
  { sight, status = 200 }: Rendering,
): Answer {
  return {
    kind: 'answer',
    status,
    text: view.text(stored, sight),
    etag: stored.revision,
    shown: shownBy(view, stored),
  };
}

/** For answers that are the text of one document. */
export function shownBy<D extends AnyDoc>(
  view: View<string, D>,
  { id, revision }: Shown<D>,
): NonNullable<Answer['shown']> {
  return { kind: view.kind.name, id, revision };
}

/** The resource after the commit that the route asked for. */
export function resourceAfter<K extends string, D extends AnyDoc>(
  view: View<K, D>,
  after: After,
  wanted: { readonly id: string; readonly status?: number; readonly location?: string },
): Answer {
  const stored = after.get(view.kind, wanted.id as Id<K>);
  if (stored === undefined) throw new Error(`${view.kind.name}/${wanted.id} is not there after its own commit`);
  const shown = resource(view, stored, { sight: after.sight, status: wanted.status });
  return wanted.location === undefined ? shown : { ...shown, headers: { location: wanted.location } };
}

export function noSuch(kind: string, id: string): Refusal {
  return {
    kind: 'not-found',
    code: `${kind}-not-found`,
    message: `There is no ${kind} "${id}", or it is not yours to see.`,
    facts: { kind, id },
  };
}

/** GET of one resource. */
export function readResource<K extends string, D extends AnyDoc>(
  fleet: Fleet,
  view: View<K, D>,
  call: Call<{ readonly id: string }>,
  sight: Sight | undefined,
): Answered {
  const stored = seen(fleet, view, { caller: call.caller, id: call.params.id });
  return stored === undefined ? refused(noSuch(view.kind.name, call.params.id)) : resource(view, stored, { sight });
}

export function refused(refusal: Refusal): Refused {
  return { kind: 'refuse', refusal };
}
