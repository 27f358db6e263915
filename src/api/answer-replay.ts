// Replays the answer to a repeated request (same idempotency key) from the kept reference to the document that the first answer
// showed. The document is read from the log at that revision, not as it is now.
import {
  usualLocation,
  type Answer,
  type Caller,
  type FormerKeptAnswer,
  type KeptAnswer,
  type ReplayedAnswer,
  type RedactorFor,
  type Representation,
} from '../access/index.ts';
import type { Fleet } from '../fleet/index.ts';
import { parseDocument, type StoredCommit, type Store, type TextChange } from '../journal/index.ts';

/** `path` is that of the request. */
export type AnswerReplay = (
  repeated: ReplayedAnswer,
  request: { readonly path: string; readonly caller: Caller },
) => Promise<Answer>;

interface Sources {
  readonly journal: { readonly store: Pick<Store, 'history'>; readonly fleet: Fleet };
  readonly redactorFor: RedactorFor;
  readonly representations: readonly Representation<string, never>[];
}

interface ReplayedBody {
  readonly text: string;
  readonly id?: string;
  readonly etag?: number;
}

export function createAnswerReplay({ journal, redactorFor, representations }: Sources): AnswerReplay {
  const { store } = journal;
  const byKind = new Map(representations.map((one) => [one.kind.name, one as unknown as Representation]));

  const render = ({ kind, id, body }: TextChange, revision: number, caller: Caller): ReplayedBody | undefined => {
    const representation = byKind.get(kind);
    if (representation === undefined || body === null) return undefined;
    const redactor = redactorFor(caller, journal.fleet);
    const doc = parseDocument(journal.fleet.registry, { kind, id, body });
    return { id, etag: revision, text: representation.toJsonText({ id, revision, doc }, redactor) };
  };

  const find = async (
    kept: KeptAnswer,
    commit: StoredCommit | undefined,
    by: Caller,
  ): Promise<ReplayedBody | undefined> => {
    if (kept.body !== undefined) {
      return { text: JSON.stringify(kept.begun === true ? withOperation(kept.body, commit) : kept.body) };
    }
    if (kept.made !== undefined) {
      return commit === undefined
        ? undefined
        : { text: JSON.stringify(withOperation(listMade(kept.made, commit), commit)) };
    }
    if (kept.shown === undefined) {
      const change = kept.change === undefined ? undefined : commit?.changes[kept.change];
      return change === undefined || commit === undefined ? undefined : render(change, commit.revision, by);
    }
    const [kind, id, revision] = kept.shown;
    const { commits } = await store.history({ kind, id, before: revision + 1, limit: 1 });
    const [then] = commits;
    const change =
      then?.revision === revision ? then.changes.find((one) => one.kind === kind && one.id === id) : undefined;
    return change === undefined ? undefined : render(change, revision, by);
  };

  return async ({ kept, revision }, { path, caller }) => {
    if (!('of' in kept)) return formerAnswer(kept);
    const { commits } = await store.history({ before: revision + 1, limit: 1 });
    const [newest] = commits;
    const commit = newest?.revision === revision ? newest : undefined;
    const found = (await find(kept, commit, caller)) ?? { text: JSON.stringify(lostAnswer(revision, commit)) };
    return answerOf(kept, found, { path, operation: commit?.operation });
  };
}

interface ReplayedRequest {
  readonly path: string;
  readonly operation: string | undefined;
}

function answerOf(kept: KeptAnswer, { text, id, etag }: ReplayedBody, made: ReplayedRequest): Answer {
  const { status, location, type, secrets = [] } = kept;
  const place = location ?? usualLocation({ status, id, ...made });
  return {
    kind: 'answer',
    status,
    text: secrets.length === 0 ? text : withNote(text, secrets),
    ...(etag !== undefined && { etag }),
    ...(type !== undefined && { type }),
    ...(place !== undefined && place !== '' && { headers: { location: place } }),
  };
}

function listMade([field, kind]: readonly [string, string], { changes }: StoredCommit): object {
  return { [field]: changes.filter((one) => one.kind === kind && one.body !== null).map((one) => one.id) };
}

function withOperation(body: object, commit: StoredCommit | undefined): object {
  return { ...(commit?.operation !== undefined && { operation: commit.operation }), ...body };
}

function lostAnswer(revision: number, commit: StoredCommit | undefined): object {
  const lost = {
    note: `The request was carried out at revision ${revision}. Its first answer was too long to keep; read what it changed instead.`,
    revision,
  };
  return withOperation(lost, commit);
}

function withNote(text: string, secrets: readonly string[]): string {
  const note = `The request was carried out before. ${secrets.join(', ')} was shown then and is not kept; if it is lost, revoke and make another.`;
  return JSON.stringify({ ...(JSON.parse(text) as object), note });
}

function formerAnswer({ status, body, headers, secrets }: FormerKeptAnswer): Answer {
  const text = body ?? JSON.stringify({ note: 'The first answer was too large to keep. Read the resource instead.' });
  return { kind: 'answer', status, text: secrets.length === 0 ? text : withNote(text, secrets), headers };
}
