// Replays the answer to a repeated request (same idempotency key) from the kept reference to the document that the first answer
// showed. The document is read from the log at that revision, not as it is now.
import {
  unpackAnswer,
  usualLocation,
  type Answer,
  type Caller,
  type FormerKeptAnswer,
  type KeptContent,
  type KeptParts,
  type ReplayedAnswer,
  type RedactorFor,
  type Representation,
  type Write,
} from '../access/index.ts';
import type { Fleet, Id, Stored } from '../fleet/index.ts';
import { parseDocument, type StoredCommit, type Store, type TextChange } from '../journal/index.ts';

export interface RepeatedRequest {
  /** Without the query. */
  readonly path: string;
  readonly caller: Caller;
  /** What the route made of it this time. */
  readonly write: Write;
}

export type AnswerReplay = (repeated: ReplayedAnswer, request: RepeatedRequest) => Promise<Answer>;

interface Sources {
  readonly journal: { readonly store: Pick<Store, 'history'>; readonly fleet: Fleet };
  readonly redactorFor: RedactorFor;
  readonly representations: readonly Representation<string, never>[];
}

/** A document as it was when it was answered. */
interface FormerDocument {
  readonly kind: string;
  readonly stored: Stored;
}

interface ReplayedBody {
  readonly text: string;
  readonly id?: string;
  readonly etag?: number;
}

export function createAnswerReplay(sources: Sources): AnswerReplay {
  const { journal, representations, redactorFor } = sources;
  const byKind = new Map(representations.map((one) => [one.kind.name, one as unknown as Representation]));
  const documents = new FormerDocuments(journal);

  const find = async (
    { content, hasEtag }: KeptParts,
    commit: StoredCommit | undefined,
    { caller, write }: RepeatedRequest,
  ): Promise<ReplayedBody | undefined> => {
    if (content.kind === 'body') {
      const { body, isBegun } = content;
      return { text: JSON.stringify(isBegun ? withOperation(body, commit) : body) };
    }
    if (content.kind === 'made') {
      return commit && { text: JSON.stringify(withOperation(listMade(content, commit), commit)) };
    }
    const found = await documents.find(content, commit, write);
    const representation = byKind.get(found?.kind ?? '');
    if (found === undefined || representation === undefined) return undefined;
    const { id, revision } = found.stored;
    const text = representation.toJsonText(found.stored, redactorFor(caller, journal.fleet));
    return { text, id, ...(hasEtag && { etag: revision }) };
  };

  const recompose = async (memo: string, kept: KeptParts, { write, caller, operation }: RecomposedRequest) => {
    const found = await documents.find(kept.content, undefined, write);
    const redactor = redactorFor(caller, journal.fleet);
    return write.recompose?.({ memo, shown: found?.stored, redactor, operation });
  };

  return async ({ kept: stored, revision }, request) => {
    if ('request' in stored) return composeFormerAnswer(stored);
    const { commits } = await journal.store.history({ before: revision + 1, limit: 1 });
    const [newest] = commits;
    const commit = newest?.revision === revision ? newest : undefined;
    const operation = commit?.operation;
    const kept = 'kept' in stored ? unpackAnswer(stored.kept) : { ...stored, ...LOST };
    const { content } = kept;
    const again = content.kind === 'memo' ? await recompose(content.memo, kept, { ...request, operation }) : undefined;
    if (again !== undefined) return again;
    const found = (await find(kept, commit, request)) ?? { text: JSON.stringify(composeLostAnswer(revision, commit)) };
    return answerOf(kept, found, { path: request.path, operation });
  };
}

const LOST = { content: { kind: 'lost' }, hasEtag: false, secrets: [] } as const;

interface RecomposedRequest extends RepeatedRequest {
  readonly operation: string | undefined;
}

class FormerDocuments {
  readonly #journal: Sources['journal'];

  constructor(journal: Sources['journal']) {
    this.#journal = journal;
  }

  /** The document that an answer showed. */
  async find(
    content: KeptContent,
    commit: StoredCommit | undefined,
    { target }: Write,
  ): Promise<FormerDocument | undefined> {
    switch (content.kind) {
      case 'change': {
        const change = commit?.changes[content.at];
        return change && commit && this.#parse(change, commit.revision);
      }
      case 'shown':
        return this.#at(content.of, content.id, content.revision);
      case 'target':
      case 'memo': {
        const { revision } = content;
        if (target === undefined || revision === undefined) return undefined;
        return this.#at(target.representation.kind.name, target.id, revision);
      }
      default:
        return undefined;
    }
  }

  async #at(kind: string, id: string, revision: number): Promise<FormerDocument | undefined> {
    const { commits } = await this.#journal.store.history({ kind, id, before: revision + 1, limit: 1 });
    const [then] = commits;
    if (then?.revision !== revision) return undefined;
    const change = then.changes.find((one) => one.kind === kind && one.id === id);
    return change && this.#parse(change, revision);
  }

  #parse({ kind, id, body }: TextChange, revision: number): FormerDocument | undefined {
    if (body === null) return undefined;
    const doc = parseDocument(this.#journal.fleet.registry, { kind, id, body });
    return { kind, stored: { id: id as Id<string>, revision, doc } };
  }
}

interface ReplayedCommit {
  readonly path: string;
  readonly operation: string | undefined;
}

function answerOf(kept: KeptParts, { text, id, etag }: ReplayedBody, made: ReplayedCommit): Answer {
  const { status, location, type, secrets } = kept;
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

function listMade({ field, of }: Extract<KeptContent, { kind: 'made' }>, { changes }: StoredCommit): object {
  return { [field]: changes.filter((one) => one.kind === of && one.body !== null).map((one) => one.id) };
}

function withOperation(body: object, commit: StoredCommit | undefined): object {
  return { ...(commit?.operation !== undefined && { operation: commit.operation }), ...body };
}

function composeLostAnswer(revision: number, commit: StoredCommit | undefined): object {
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

function composeFormerAnswer({ status, body, headers, secrets }: FormerKeptAnswer): Answer {
  const text = body ?? JSON.stringify({ note: 'The first answer was too large to keep. Read the resource instead.' });
  return { kind: 'answer', status, text: secrets.length === 0 ? text : withNote(text, secrets), headers };
}
