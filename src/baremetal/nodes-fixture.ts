// Nodes for tests, in compact form, and a fleet that holds every invariant of this module after each commit.
import { expect } from 'vitest';
import { Fleet, idOf, put, Registry, type AppliedChange, type Change, type Model } from '../fleet/index.ts';
import { MODELS as INSTANCE_MODELS } from '../instances/reference-fixture.ts';
import type { Decision } from '../journal/index.ts';
import { operationsModel } from '../operations/index.ts';
import { SITE } from '../sites/index.ts';
import { baremetalModel } from './fleet-model.ts';
import { NODE, RESERVATION, type Node } from './model.ts';
import { NODE_INVARIANTS } from './nodes/invariants.ts';
import type { StoredNode } from './nodes/transitions.ts';

export const BY = { by: 'test', nowMs: 7 };

/** A free machine, unless said otherwise. */
export function node(facts: Partial<Node> = {}): Node {
  return {
    inventory: 'simulated',
    traits: [],
    ...{ memoryMiB: 65_536, cpus: 16, localGiB: 500 },
    physicalNetworks: [],
    state: 'available',
    power: 'off',
    epoch: 0,
    changedBy: 'test',
    changedAtMs: 0,
    ...facts,
  };
}

/** What a node in use has, whatever it is used for. */
export const USED: Pick<Node, 'instance' | 'manager' | 'managerEpoch'> = {
  instance: 'i1',
  manager: 'm1',
  managerEpoch: 3,
};

export function stored(id: string, doc: Node): StoredNode {
  return { id: idOf(NODE, id), revision: 1, doc };
}

export function putNode(id: string, facts: Partial<Node> = {}): Change {
  return put(NODE, idOf(NODE, id), node(facts));
}

/** The reservation of a node in use, as it is once it was made. */
export function putReservationOf(id: string, { instance = '', manager = '', epoch }: Partial<Node>): Change {
  return put(RESERVATION, idOf(RESERVATION, instance), {
    ...{ instance, manager, state: 'active', digest: '', request: {}, ignored: [], node: id, nodeEpoch: epoch ?? 1 },
    ...{ createdAtMs: 0, changedBy: 'test', changedAtMs: 0 },
  });
}

export function putSite(name: string): Change {
  return put(SITE, idOf(SITE, name), { name, changedBy: 'test', changedAtMs: 0 });
}

export const MODELS: readonly Model[] = [...INSTANCE_MODELS, baremetalModel];

export function newFleet(...changes: readonly Change[]): Fleet {
  const fleet = new Fleet(new Registry([operationsModel, ...MODELS]));
  if (changes.length > 0) commit(fleet, ...changes);
  return fleet;
}

/** Each document is valid, and no invariant of nodes is broken: their reservations are not there. */
export function commit(fleet: Fleet, ...changes: readonly Change[]): readonly AppliedChange[] {
  for (const { kind, doc } of changes)
    if (doc !== null) expect(fleet.registry.kinds.get(kind)?.check(doc)).toBe(undefined);
  const applied = fleet.apply(fleet.revision + 1, changes);
  expect(NODE_INVARIANTS.flatMap(({ check }) => check(applied, fleet))).toEqual([]);
  return applied;
}

/** Commits what was decided; answers the answer. */
export function decide<A>(fleet: Fleet, decision: Decision<A>): A {
  if (decision.kind === 'refuse') throw new Error(decision.refusal.message);
  if (decision.changes.length > 0) commit(fleet, ...decision.changes);
  return decision.answer;
}

export function refusalOf(decision: Decision<unknown>): object | undefined {
  return decision.kind === 'refuse' ? decision.refusal : undefined;
}

export function nodeOf(fleet: Fleet, id: string): Node | undefined {
  return fleet.get(NODE, idOf(NODE, id))?.doc;
}
