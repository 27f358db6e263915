// Vaults: documents of a test only, each with the credentials of a peer. The peer repeats what it is sent, as servers and libraries do in errors.
import { Type, type Static } from 'typebox';
import {
  defineRepresentation,
  ID,
  noProject,
  readRoutes,
  refusalAnswer,
  renderCommitted,
  SEALED,
  strictObject,
  wholeFleet,
  write,
  type Resource,
} from '../../src/access/index.ts';
import { compose, type Composition, type Module } from '../../src/composition/index.ts';
import { idOf, put, schemaKind } from '../../src/fleet/index.ts';
import { accept, refuse } from '../../src/journal/index.ts';
import { SECRETS, type Secrets } from '../../src/keys/index.ts';
import { MODULES } from '../../src/main/modules.ts';
import { newOperation, OPERATION, record, wait, type Driver, type OperationKind } from '../../src/operations/index.ts';

const SCHEMA = Type.Object(
  {
    name: Type.String(),
    note: Type.String(),
    logins: Type.Array(Type.Object({ user: Type.String(), secret: SEALED })),
  },
  { additionalProperties: false },
);
type Vault = Static<typeof SCHEMA>;
export const VAULT = schemaKind('vault', SCHEMA);

/** It shows the whole document: what is sealed in it must not depend on each author's care. */
const REPRESENTATION = defineRepresentation({
  kind: VAULT,
  siteOf: wholeFleet,
  projectOf: noProject,
  fields: {
    name: Type.String(),
    note: Type.String(),
    logins: Type.Array(Type.Object({}, { additionalProperties: true })),
  },
});

const VAULTS: Resource<'vault', Vault> = {
  path: '/api/v1/vaults',
  plural: 'vaults',
  singular: 'vault',
  representation: REPRESENTATION,
};

const BODY = strictObject({
  name: ID,
  note: Type.Optional(Type.String({ maxLength: 100 })),
  user: Type.String({ minLength: 1 }),
  secret: Type.String({ minLength: 8, maxLength: 10_000 }),
});

export const createVault = write({
  method: 'POST',
  path: '/api/v1/vaults',
  tag: 'vaults',
  about: 'Create a vault and open it',
  access: 'operator',
  body: BODY,
  answers: { 201: { about: 'the vault', schema: REPRESENTATION.schema } },
  handle: ({ body: { name, note = '', user, secret }, caller }, world) => {
    const made = world.seal({ kind: VAULT.name, id: name }, secret);
    if ('refusal' in made) return refusalAnswer(made.refusal);
    const [operation, nowMs] = [idOf(OPERATION, world.ids.next('op')), world.clock.nowMs()];
    return {
      why: `create vault ${name}`,
      operation,
      decide: (fleet) => {
        const id = idOf(VAULT, name);
        if (fleet.get(VAULT, id) !== undefined)
          return refuse({
            kind: 'conflict',
            code: 'name-taken',
            message: `There is a vault ${name}. Take another name.`,
          });
        const items = [{ key: name, target: { kind: VAULT.name, id: name }, step: 'open' }];
        const how = { kind: 'vault-open', title: `open vault ${name}`, by: caller.name, nowMs, deadlineMs: 3_600_000 };
        return accept(
          [
            put(VAULT, id, { name, note, logins: [{ user, secret: made.sealed }] }),
            ...newOperation({ id: operation, ...how, items }),
          ],
          null,
        );
      },
      answer: ({ after }) => renderCommitted(REPRESENTATION, after, { id: name, status: 201 }),
    };
  },
});

const vaultOpen: OperationKind = {
  name: 'vault-open',
  steps: ['open'],
  cancel: { kind: 'none', because: 'of the test' },
  retry: { kind: 'none', because: 'of the test' },
  plan: (fleet, items, nowMs) =>
    items.flatMap((item) => {
      const { step, attempt, target, retryAtMs = 0 } = item.doc;
      const doc = fleet.get(VAULT, idOf(VAULT, target.id))?.doc;
      if (doc === undefined || retryAtMs > nowMs) return [];
      const args = { vault: target.id, how: doc.note, logins: doc.logins };
      const action = { driver: 'vaults', item: item.id, step, attempt, args };
      return { kind: 'act', item: item.id, expected: item.revision, action };
    }),
  observe: (item, outcome, { nowMs }) => {
    if (outcome.kind === 'failed') return wait(item, outcome.reason, nowMs + 60_000);
    return record(item, { state: 'done', step: 'open' });
  },
};

/** What the peer says of a login that it does not take. */
const REPLIES: Readonly<Record<string, (user: string, secret: string) => string>> = {
  plain: (user, secret) => `401 for ${user}:${secret}`,
  json: (user, secret) => JSON.stringify({ error: { user, secret } }),
  basic: (user, secret) => `Authorization: Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}`,
  url: (user, secret) => `https://${user}:${encodeURIComponent(secret)}@peer/ not found`,
  cut: (_user, secret) => `${'x'.repeat(480)}${secret}`,
};

function vaultDriver(secrets: Secrets): Driver {
  return {
    carryOut: async ({ args }) => {
      const { vault, how, logins } = args as { vault: string; how: string; logins: Vault['logins'] };
      const [login] = logins;
      if (login === undefined) return { kind: 'applied' };
      const opened = secrets.unseal({ kind: VAULT.name, id: vault }, login.secret);
      if (opened.kind === 'failed') return { kind: 'failed', reason: opened.reason };
      const text = REPLIES[how]?.(login.user, opened.secret.reveal());
      if (how === 'throw')
        throw new Error(`the peer said ${opened.secret.reveal()}`, { cause: opened.secret.reveal() });
      return text === undefined
        ? { kind: 'applied' }
        : { kind: 'failed', reason: { code: 'peer-refused', vault, text } };
    },
  };
}

/** This program, with vaults. */
export function programWithVaults(): Composition {
  const vaults: Module = {
    name: 'vaults',
    models: () => [{ kinds: [VAULT] }],
    operationKinds: () => [vaultOpen],
    reasonCodes: ['peer-refused'],
    sentences: [{ 'peer-refused': ({ vault, text }) => `The peer of ${String(vault)} refused: ${String(text)}` }],
    representations: () => [REPRESENTATION],
    drivers: (runtime) => ({ vaults: vaultDriver(runtime.get(SECRETS)) }),
    routes: () => [
      ...readRoutes(VAULTS, {
        listing: { representation: REPRESENTATION, filters: {}, nameIsId: true, sorts: { name: ({ name }) => name } },
      }),
      createVault,
    ],
  };
  return compose([...MODULES, vaults]);
}
