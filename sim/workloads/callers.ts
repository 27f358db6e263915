// Callers with tokens, whose requests are admitted at one moment and decided at another: bodies arrive late, tokens are revoked and expire,
// and the lease changes meanwhile. A stranger with a made-up token tries the same.
import { hideKind } from '../../src/composition/index.ts';
import { Type } from 'typebox';
import {
  createToken,
  denyUnlessAuthorized,
  noProject,
  revokeToken,
  TOKEN,
  wholeFleet,
  type Authority,
} from '../../src/access/index.ts';
import { idOf, put, schemaKind, type FleetReader, type Id } from '../../src/fleet/index.ts';
import { accept, NotHolder, type Outcome } from '../../src/journal/index.ts';
import { callerTag } from '../checkers/authorised.ts';
import type { Rng } from '../kernel/rng.ts';
import type { Operator } from '../world/operator.ts';
import { sha256 } from '../world/parts.ts';
import type { Incarnation } from '../world/server.ts';
import type { World } from '../world/world.ts';
import { once } from './commands.ts';
import type { Workload } from './workload.ts';

const NOTE = schemaKind('sim-note', Type.Object({ by: Type.String() }, { additionalProperties: false }));
const DEMAND = { access: 'operator' } as const;
/** A body that is held back, or a slow connection. */
const BODY_LATE_MAX_MS = 3000;
const TOKEN_LIFE_MAX_MS = 20_000;

type TokenId = Id<'token'>;

/** Tokens come and go while they are used. */
class TokenHolder {
  /** The newest token; undefined before there is one. */
  token: TokenId | undefined;
  readonly #name: string;
  readonly #rng: Rng;
  readonly #operator: Operator;
  #count = 0;

  constructor(world: World, name: string) {
    this.#name = name;
    this.#rng = world.rng.fork();
    this.#operator = world.newOperator(`issuer-of-${name}`);
  }

  async run(world: World): Promise<void> {
    while (world.isTroubled) {
      await this.#issue(world);
      await this.#operator.pause(this.#rng.between(500, 6000));
      if (this.#rng.chance(0.7)) await this.#revoke();
    }
  }

  async #issue(world: World): Promise<void> {
    this.#count += 1;
    const id = idOf(TOKEN, `tk-${this.#name}-${this.#count}`);
    const role = this.#rng.chance(0.8) ? ('operator' as const) : ('viewer' as const);
    const expires = this.#rng.chance(0.4);
    const lifeMs = this.#rng.between(1000, TOKEN_LIFE_MAX_MS);
    const tag = `issue-${id}`;
    const isMade = (fleet: FleetReader): boolean => fleet.get(TOKEN, id) !== undefined;
    const token = { id, name: tag, role, hash: sha256(id), createdBy: tag };
    await this.#operator.ask(
      once(tag, isMade, (fleet, nowMs) =>
        createToken(fleet, { ...token, createdAtMs: nowMs, ...(expires && { expiresAtMs: nowMs + lifeMs }) }),
      ),
    );
    if (world.isTroubled) this.token = id;
  }

  async #revoke(): Promise<void> {
    const id = this.token;
    if (id === undefined) return;
    const tag = `revoke-${id}`;
    const isDone = (fleet: FleetReader): boolean => fleet.get(TOKEN, id)?.doc.revoked !== undefined;
    await this.#operator.ask(once(tag, isDone, (fleet, nowMs) => revokeToken(fleet, { id, by: tag, nowMs })));
  }
}

async function write(world: World, operator: Operator, tokenOf: () => TokenId | undefined): Promise<void> {
  const rng = world.rng.fork();
  for (let count = 1; world.isTroubled; count += 1) {
    const tag = callerTag(tokenOf(), `${operator.name}-${count}`);
    const lateMs = rng.below(BODY_LATE_MAX_MS);
    const token = tokenOf();
    await operator.askServer({ tag, serve: (life) => serve(life, { tag, token, lateMs }) });
    await operator.pause(rng.between(50, 1500));
  }
}

interface Sent {
  readonly tag: string;
  readonly token: TokenId | undefined;
  readonly lateMs: number;
}

/** Like an API route: the token is checked with the headers, then the body arrives, then it is decided. */
async function serve(life: Incarnation, { tag, token, lateMs }: Sent): Promise<Outcome<unknown>> {
  const { journal, clock, submit } = life;
  const seen = token === undefined ? undefined : journal.fleet.get(TOKEN, token);
  const caller = { name: tag, role: seen?.doc.role ?? ('nobody' as const), ...(token !== undefined && { token }) };
  const authority: Authority = { caller, token: seen, demand: DEMAND };
  const denial = denyUnlessAuthorized(journal.fleet, authority, clock.nowMs());
  // A server without the lease forwards a token that it does not know yet to the holder.
  const goesOn = journal.fence === undefined && seen === undefined;
  if (denial !== undefined && !goesOn) return { kind: 'refused', revision: journal.fleet.revision, refusal: denial };
  await clock.sleep(lateMs);
  if (journal.fence === undefined) throw new NotHolder();
  const id = idOf(NOTE, tag);
  return submit(authority, {
    decide: (fleet) => accept(fleet.get(NOTE, id) === undefined ? [put(NOTE, id, { by: tag })] : [], null),
  });
}

export const callers: Workload = {
  name: 'callers',
  module: {
    name: 'callers',
    models: () => [{ kinds: [NOTE] }],
    hiddenKinds: [hideKind(NOTE, { siteOf: wholeFleet, projectOf: noProject })],
  },
  start: (world) => {
    const holders = ['alice', 'bob'].map((name) => ({ name, holder: new TokenHolder(world, name) }));
    const done = Promise.all([
      ...holders.map(({ holder }) => holder.run(world)),
      ...holders.map(({ name, holder }) => write(world, world.newOperator(name), () => holder.token)),
      write(world, world.newOperator('stranger'), () => undefined),
    ]);
    return { done };
  },
};
