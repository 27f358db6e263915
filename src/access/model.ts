// Tokens and kept answers: who may come in, and what was answered to whom. A token's secret is never here, only its
// hash; a kept answer never holds a secret.
import { Type, type Static } from 'typebox';
import { schemaKind, type Id, type Index, type Model } from '../fleet/index.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
/** A dead token stays long enough to explain who did what with it. */
const DEAD_TOKEN_KEPT_MS = 30 * DAY_MS;
/** How long a repeated request is recognised. */
export const IDEMPOTENCY_KEPT_MS = DAY_MS;

export const TOKEN_NAME = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9._:@/ -]{0,99}$',
  'x-form': 'a name of letters, digits, spaces and . _ : @ / - (at most 100)',
  description: 'what the history shows as the author: letters, digits, spaces and . _ : @ / -',
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
    ]),
    site: Type.Optional(Type.String()),
    host: Type.Optional(Type.String()),
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

export const IDEMPOTENCY = schemaKind(
  'idempotency',
  Type.Object(
    {
      /** SHA-256 over method, URL and body of the request. */
      request: Type.String(),
      status: Type.Integer(),
      /** The answer as JSON text, without its secrets; absent when it was too large to keep. */
      body: Type.Optional(Type.String()),
      headers: Type.Record(Type.String(), Type.String()),
      /** The fields that were shown once. */
      secrets: Type.Array(Type.String()),
      expiresAtMs: Type.Integer(),
    },
    { additionalProperties: false },
  ),
  { expiresAtMs: (doc) => doc.expiresAtMs },
);

export const accessModel: Model = { kinds: [TOKEN, IDEMPOTENCY], indexes: [TOKENS_BY_ROLE, TOKENS_BY_HOST] };
