// Tokens (credentials and roles) and kept answers (for idempotency keys). A token's secret is never here, only its
// hash; a kept answer never holds a secret.
import { Type, type Static } from 'typebox';
import { keptUntilHourOf } from './kept-answer.ts';
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

export const TOKENS_BY_MANAGER: Index<'token', Token> = {
  name: 'tokens-by-manager',
  kind: TOKEN,
  keysOf: (doc) => (doc.manager === undefined || doc.revoked !== undefined ? [] : [doc.manager]),
};

/** What it is made from again, in one text: fields of their own would cost their names and their places for each of them. */
const KeptAnswer = Type.Object(
  { kept: Type.String({ description: 'src/access/kept-answer.ts' }) },
  { additionalProperties: false },
);

/** As checkouts between two versions kept answers. They are repeated as answers that were too long to keep. */
const InterimKeptAnswer = Type.Object({ of: Type.String(), status: Type.Integer(), untilHour: Type.Integer() });

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
type InterimKeptAnswer = Static<typeof InterimKeptAnswer>;
export type FormerKeptAnswer = Static<typeof FormerKeptAnswer>;
export type StoredAnswer = KeptAnswer | InterimKeptAnswer | FormerKeptAnswer;

export const IDEMPOTENCY = schemaKind('idempotency', Type.Union([KeptAnswer, InterimKeptAnswer, FormerKeptAnswer]), {
  expiresAtMs: (doc) => keptUntilMs(doc),
});

function keptUntilMs(doc: StoredAnswer): number {
  if ('expiresAtMs' in doc) return doc.expiresAtMs;
  return ('kept' in doc ? keptUntilHourOf(doc.kept) : doc.untilHour) * HOUR_MS;
}

/** The first full hour by which an answer has been kept for long enough. */
export function keptUntilHour(nowMs: number): number {
  return Math.ceil((nowMs + IDEMPOTENCY_KEPT_MS) / HOUR_MS);
}

export const accessModel: Model = {
  kinds: [TOKEN, IDEMPOTENCY],
  indexes: [TOKENS_BY_ROLE, TOKENS_BY_HOST, TOKENS_BY_MANAGER],
};
