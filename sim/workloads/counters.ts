// The smallest possible workload: counters that many clients increment, and a pool that must not be oversold. Each request leaves a
// receipt, as an API request with an idempotency key does.
import { noProject, wholeFleet } from '../../src/access/index.ts';
import { hideKind } from '../../src/composition/index.ts';
import { Type } from 'typebox';
import { idOf, put, remove, schemaKind, type FleetReader, type Index, type Model } from '../../src/fleet/index.ts';
import { accept, refuse, type Decision, type StoredCommit } from '../../src/journal/index.ts';
import type { Operator } from '../world/operator.ts';
import type { World } from '../world/world.ts';
import type { Workload } from './workload.ts';

const CLOSED = { additionalProperties: false } as const;
const COUNTER = schemaKind('sim-counter', Type.Object({ value: Type.Integer() }, CLOSED));
const RECEIPT = schemaKind('sim-receipt', Type.Object({ answer: Type.Integer() }, CLOSED));
const CLAIM = schemaKind('sim-claim', Type.Object({ pool: Type.String() }, CLOSED));

const CLAIMS_BY_POOL: Index<'sim-claim', { pool: string }> = {
  name: 'sim-claims-by-pool',
  kind: CLAIM,
  keysOf: (doc) => [doc.pool],
};

const POOL_SIZE = 5;
const COUNTERS = 4;
const COUNTER_MAX = 60;

const model: Model = {
  kinds: [COUNTER, RECEIPT, CLAIM],
  indexes: [CLAIMS_BY_POOL],
  invariants: [
    {
      name: 'never: a pool is oversold',
      check: (_, fleet) => {
        const claims = fleet.countOf(CLAIMS_BY_POOL, 'pool');
        return claims <= POOL_SIZE ? [] : [`${claims} claims on a pool of ${POOL_SIZE}`];
      },
    },
  ],
};

function increment(fleet: FleetReader, counter: string, tag: string): Decision<number> {
  const receipt = fleet.get(RECEIPT, idOf(RECEIPT, tag));
  if (receipt !== undefined) return accept([], receipt.doc.answer);
  const id = idOf(COUNTER, counter);
  const value = (fleet.get(COUNTER, id)?.doc.value ?? 0) + 1;
  if (value > COUNTER_MAX) return refuse({ kind: 'limit', code: 'counter-full', message: 'The counter is full.' });
  return accept([put(COUNTER, id, { value }), put(RECEIPT, idOf(RECEIPT, tag), { answer: value })], value);
}

function claim(fleet: FleetReader, tag: string): Decision<number> {
  const receipt = fleet.get(RECEIPT, idOf(RECEIPT, tag));
  if (receipt !== undefined) return accept([], receipt.doc.answer);
  const taken = fleet.countOf(CLAIMS_BY_POOL, 'pool');
  if (taken >= POOL_SIZE) return refuse({ kind: 'limit', code: 'pool-empty', message: 'The pool is empty.' });
  const changes = [put(CLAIM, idOf(CLAIM, tag), { pool: 'pool' }), put(RECEIPT, idOf(RECEIPT, tag), { answer: taken })];
  return accept(changes, taken);
}

function release(fleet: FleetReader, tag: string): Decision<number> {
  const receipt = fleet.get(RECEIPT, idOf(RECEIPT, tag));
  if (receipt !== undefined) return accept([], receipt.doc.answer);
  const [oldest] = fleet.find(CLAIMS_BY_POOL, 'pool');
  if (oldest === undefined) return refuse({ kind: 'not-found', code: 'no-claim', message: 'There is no claim.' });
  return accept([remove(CLAIM, oldest.id), put(RECEIPT, idOf(RECEIPT, tag), { answer: 0 })], 0);
}

/** Without a receipt: sent twice it is done twice, so it is never repeated. */
function incrementWithoutReceipt(fleet: FleetReader, counter: string): Decision<number> {
  const id = idOf(COUNTER, counter);
  const value = (fleet.get(COUNTER, id)?.doc.value ?? 0) + 1;
  return accept([put(COUNTER, id, { value })], value);
}

async function work(world: World, operator: Operator, name: string): Promise<void> {
  for (let count = 1; world.isTroubled; count += 1) {
    const tag = `${name}-${count}`;
    const { once, decide } = drawRequest(world, tag);
    await operator.ask({ tag, once, request: () => ({ by: tag, decide }) });
    await operator.pause(world.rng.between(10, 700));
  }
}

interface DrawnRequest {
  readonly once: boolean;
  readonly decide: (fleet: FleetReader) => Decision<number>;
}

function drawRequest(world: World, tag: string): DrawnRequest {
  const counter = `counter${world.rng.below(COUNTERS)}`;
  switch (world.rng.below(5)) {
    case 0:
      return { once: true, decide: (fleet) => claim(fleet, tag) };
    case 1:
      return { once: true, decide: (fleet) => release(fleet, tag) };
    case 2:
      return { once: false, decide: (fleet) => incrementWithoutReceipt(fleet, counter) };
    default:
      return { once: true, decide: (fleet) => increment(fleet, counter, tag) };
  }
}

/** Each increment of a counter is one more than the one before it. */
function skippedIncrements(world: World): string[] {
  const values = new Map<string, number>();
  return world.ledger.entries.flatMap(({ commit }) =>
    countersIn(commit).flatMap(([id, value]) => {
      const before = values.get(id) ?? 0;
      values.set(id, value);
      return value === before + 1 ? [] : [`${id} went from ${before} to ${value} at ${commit.revision}`];
    }),
  );
}

function countersIn(commit: StoredCommit): [id: string, value: number][] {
  return commit.changes.flatMap(({ kind, id, body }) =>
    kind === COUNTER.name && body !== null ? [[id, (JSON.parse(body) as { value: number }).value]] : [],
  );
}

export const counters: Workload = {
  name: 'counters',
  module: {
    name: 'counters',
    models: () => [model],
    hiddenKinds: [
      hideKind(COUNTER, { siteOf: wholeFleet, projectOf: noProject }),
      hideKind(RECEIPT, { siteOf: wholeFleet, projectOf: noProject }),
      hideKind(CLAIM, { siteOf: wholeFleet, projectOf: noProject }),
    ],
  },
  start: (world) => {
    const names = Array.from({ length: world.rng.between(4, 8) }, (_, at) => `caller${at + 1}`);
    const done = Promise.all(names.map((name) => work(world, world.newOperator(name), name)));
    return { done, atRest: () => skippedIncrements(world) };
  },
};
