// The HTTP surface of tokens. A secret is in exactly one answer: the one that creates it.
import { Type, type Static } from 'typebox';
import { idOf, type FleetReader, type Id, type Kind, type Refusal } from '../fleet/index.ts';
import { refuse, type Decision } from '../journal/index.ts';
import { answer, renderCommitted } from './answer.ts';
import { createToken, revokeToken } from './decide.ts';
import type { Listing } from './list.ts';
import { MANAGER_NAME, TOKEN, TOKEN_NAME, TokenDoc, type Token, type TokenId } from './model.ts';
import { listRoute, showRoute, type Resource } from './resource.ts';
import { BY_ID, strictObject, HOST_REF, ID, read, write, type Route } from './route.ts';
import { newSecret } from './token-secret.ts';
import { TOKEN_REPRESENTATION } from './token-representation.ts';

const LISTING: Listing<'token', Token> = {
  representation: TOKEN_REPRESENTATION,
  filters: {
    role: { schema: TokenDoc.properties.role, valuesOf: (doc) => [doc.role] },
    host: { schema: HOST_REF, valuesOf: (doc) => [doc.host] },
    site: { schema: ID, valuesOf: (doc) => [doc.site] },
    project: { schema: ID, valuesOf: (doc) => [doc.project] },
    revoked: { schema: Type.Boolean(), valuesOf: (doc) => [doc.revoked !== undefined] },
  },
  sorts: { name: (doc) => doc.name, createdAtMs: (doc) => doc.createdAtMs },
};

const NewToken = strictObject({
  name: TOKEN_NAME,
  role: Type.Union(
    [
      Type.Literal('viewer'),
      Type.Literal('operator'),
      Type.Literal('admin'),
      Type.Literal('join'),
      Type.Literal('manager'),
    ],
    { description: 'agents get their own token by joining with a `join` token' },
  ),
  site: Type.Optional(ID),
  project: Type.Optional(
    Type.String({ ...ID, description: 'sees and touches only what this project has; for viewers and operators' }),
  ),
  host: Type.Optional(HOST_REF),
  manager: Type.Optional(
    Type.String({ ...MANAGER_NAME, description: 'the manager that a token with the role `manager` speaks for' }),
  ),
  expiresAtMs: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
});

/** The kinds that a token may be bound to. They belong to modules above this one, so they are passed as values. */
export interface TokenBindingKinds {
  readonly site?: Kind<string, never>;
  readonly host?: Kind<string, never>;
}

export function tokenRoutes(bound: TokenBindingKinds = {}): Route[] {
  return [listTokens, getToken, createTokenRoute(bound), revokeTokenRoute, whoAmI];
}

const TOKENS: Resource<'token', Token> = {
  path: '/api/v1/tokens',
  plural: 'tokens',
  singular: 'token',
  representation: TOKEN_REPRESENTATION,
};

const listTokens = listRoute(TOKENS, {
  listing: LISTING,
  about: 'List tokens, without their secrets',
  access: 'admin',
});

const getToken = showRoute(TOKENS, { about: 'Show a token, without its secret', access: 'admin' });

function createTokenRoute(bound: TokenBindingKinds): Route {
  return write({
    method: 'POST',
    path: TOKENS.path,
    tag: 'tokens',
    about: 'Create a token; its secret is in this answer and never shown again',
    access: 'admin',
    body: NewToken,
    answers: {
      201: {
        about: 'the token and, once, its secret',
        schema: Type.Object({
          ...TOKEN_REPRESENTATION.schema.properties,
          secret: Type.Optional(Type.String()),
          note: Type.Optional(Type.String()),
        }),
      },
    },
    handle: ({ body, caller }, world) => {
      const made = newSecret(world);
      const token = { ...body, hash: made.hash, createdAtMs: world.clock.nowMs(), createdBy: caller.name };
      return {
        why: `create token ${body.name}`,
        decide: (fleet): Decision<TokenId> =>
          unknownPlace(fleet, bound, body) ?? createToken(fleet, { id: made.id, ...token }),
        answer: ({ result: id, after }) => ({
          ...renderCommitted(TOKEN_REPRESENTATION, after, { id, status: 201, location: `${TOKENS.path}/${id}` }),
          secrets: { secret: made.secret },
        }),
      };
    },
  });
}

const revokeTokenRoute = write({
  method: 'DELETE',
  path: `${TOKENS.path}/:id`,
  tag: 'tokens',
  about: 'Revoke a token: from now on it opens nothing',
  access: 'admin',
  params: BY_ID,
  answers: { 200: { about: 'the token as it is kept for the record', schema: TOKEN_REPRESENTATION.schema } },
  handle: ({ params, caller }, { clock }) => {
    const id = idOf(TOKEN, params.id);
    const nowMs = clock.nowMs();
    return {
      target: { representation: TOKEN_REPRESENTATION, id },
      why: `revoke token ${id}`,
      decide: (fleet) => revokeToken(fleet, { id, by: caller.name, nowMs }),
      answer: ({ after }) => renderCommitted(TOKEN_REPRESENTATION, after, { id }),
    };
  },
});

const whoAmI = read({
  method: 'GET',
  path: '/api/v1/whoami',
  tag: 'tokens',
  about: 'Show whom the token belongs to and what it may do',
  access: 'viewer',
  scope: 'site',
  forProjects: true,
  answers: {
    200: {
      about: 'the caller',
      schema: Type.Object({
        name: Type.String(),
        role: Type.String(),
        token: Type.Optional(Type.String()),
        site: Type.Optional(Type.String()),
        project: Type.Optional(Type.String()),
        manager: Type.Optional(Type.String()),
      }),
    },
  },
  handle: ({ caller }) => answer(caller),
});

function unknownPlace(
  fleet: FleetReader,
  bound: TokenBindingKinds,
  body: Static<typeof NewToken>,
): Decision<never> | undefined {
  for (const field of ['site', 'host'] as const) {
    const kind = bound[field] as Kind | undefined;
    const id = body[field];
    if (kind === undefined || id === undefined || fleet.get(kind, id as Id<string>) !== undefined) continue;
    const message = `There is no ${field} "${id}" to bind the token to. List them with "muster ${field}s list".`;
    const refusal: Refusal = { kind: 'invalid', code: `${field}-not-found`, message, field: `/${field}` };
    return refuse(refusal);
  }
  return undefined;
}
