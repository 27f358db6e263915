// Tokens (credentials and roles) and kept answers (for idempotency keys). A token's secret is never here, only its
// hash; a kept answer never holds a secret.
import { Type, type Static } from 'typebox';
import { schemaKind, type Id, type Index, type Model } from '../fleet/index.ts';

const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;
/** A dead token stays long enough to explain who did what with it. */
const DEAD_TOKEN_KEPT_MS = 30 * DAY_MS;
/** How long a repeated request is recognised. */
const IDEMPOTENCY_KEPT_MS = DAY_MS;

export const TOKEN_NAME = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9._:@/ -]{0,99}$',
  'x-form': 'a name of letters, digits, spaces and . _ : @ / - (at most 100)',
  description: 'what the history shows as the author: letters, digits, spaces and . _ : @ / -',
});

/** In lower case: the same name in another case would be another manager. */
export const MANAGER_NAME = Type.String({
  pattern: '^[a-z0-9][a-z0-9._-]{0,62}$',
  'x-form': 'a name of lower-case letters, digits and . _ - (at most 63)',
  description: 'lower-case letters, digits and . _ -, at most 63',
});

const Ended = Type.Object({ atMs: Type.Integer(), by: Type.String() }, { additionalProperties: false });

export const TokenDoc = Type.Object(
  {
    name: TOKEN_NAME,
    role: Type.Union([
      Type.Literal('viewer'),
      Type.Literal('operator'),
      Type.Literal('admin'),
      Type.Literal('agent'),
      Type.Literal('join'),
      Type.Literal('manager'),
    ]),
    site: Type.Optional(Type.String()),
    project: Type.Optional(Type.String()),
    host: Type.Optional(Type.String()),
    manager: Type.Optional(Type.String()),
    hash: Type.String({ pattern: '^[0-9a-f]{64}$' }),
    createdAtMs: Type.Integer(),
    createdBy: Type.String(),
    expiresAtMs: Type.Optional(Type.Integer()),
    revoked: Type.Optional(Ended),
    /** A join token that was used: which credential came of it. */
    consumed: Type.Optional(
      Type.Object({ atMs: Type.Integer(), token: Type.String() }, { additionalProperties: false }),
    ),
  },
  { additionalProperties: false },
);

export type Token = Static<typeof TokenDoc>;
export type TokenId = Id<'token'>;

export const TOKEN = schemaKind('token', TokenDoc, {
  expiresAtMs: (doc) => {
    const ends = [doc.revoked?.atMs, doc.consumed?.atMs, doc.expiresAtMs].filter((at) => at !== undefined);
    return ends.length === 0 ? undefined : Math.min(...ends) + DEAD_TOKEN_KEPT_MS;
  },
});

export const TOKENS_BY_ROLE: Index<'token', Token> = {
  name: 'tokens-by-role',
  kind: TOKEN,
  keysOf: (doc) => (doc.revoked === undefined ? [doc.role] : []),
};

export const TOKENS_BY_HOST: Index<'token', Token> = {
  name: 'tokens-by-host',
  kind: TOKEN,
  keysOf: (doc) => (doc.host === undefined || doc.revoked !== undefined ? [] : [doc.host]),
};

/**
 * What is kept of an answer: what it is made from, not its text. Every field costs its length several times over, in the log, in the table
 * and in memory, for every write with a key.
 */
const KeptAnswer = Type.Object(
  {
    /** Digest of method, URL and body of the request. */
    of: Type.String(),
    status: Type.Integer(),
    untilHour: Type.Integer({ description: 'hours since 1970' }),
    /** The answer shows the document that this change of the same commit left. */
    change: Type.Optional(Type.Integer()),
    /** The answer shows a document that the commit did not leave: kind, id and revision. */
    shown: Type.Optional(Type.Tuple([Type.String(), Type.String(), Type.Integer()])),
    /** The answer itself. Without any of these it was too long to keep. */
    body: Type.Optional(Type.Object({})),
    /** The body is without the operation that the request began: the commit has it. */
    begun: Type.Optional(Type.Literal(true)),
    /** Media type of the body when it is not JSON. */
    type: Type.Optional(Type.String()),
    /** A field of the answer that lists what the commit made, and the kind of it. */
    made: Type.Optional(Type.Tuple([Type.String(), Type.String()])),
    /** Where it is not the usual place of what was made, or empty where there is none. */
    location: Type.Optional(Type.String()),
    /** The fields that were shown once. */
    secrets: Type.Optional(Type.Array(Type.String())),
  },
  { additionalProperties: false },
);

/** As versions before kept answers: they stay valid for a day after an upgrade. */
const FormerKeptAnswer = Type.Object(
  {
    request: Type.String(),
    status: Type.Integer(),
    body: Type.Optional(Type.String()),
    headers: Type.Record(Type.String(), Type.String()),
    secrets: Type.Array(Type.String()),
    expiresAtMs: Type.Integer(),
  },
  { additionalProperties: false },
);

export type KeptAnswer = Static<typeof KeptAnswer>;
export type FormerKeptAnswer = Static<typeof FormerKeptAnswer>;

export const IDEMPOTENCY = schemaKind('idempotency', Type.Union([KeptAnswer, FormerKeptAnswer]), {
  expiresAtMs: (doc) => keptUntilMs(doc),
});

function keptUntilMs(doc: KeptAnswer | FormerKeptAnswer): number {
  return 'untilHour' in doc ? doc.untilHour * HOUR_MS : doc.expiresAtMs;
}

/** The first full hour by which an answer has been kept for long enough. */
export function keptUntilHour(nowMs: number): number {
  return Math.ceil((nowMs + IDEMPOTENCY_KEPT_MS) / HOUR_MS);
}

export const accessModel: Model = { kinds: [TOKEN, IDEMPOTENCY], indexes: [TOKENS_BY_ROLE, TOKENS_BY_HOST] };
