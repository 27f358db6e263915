// What the contract suite needs of a store's surroundings, and short ways to write commits and to look at what is there.
import { onTestFinished } from 'vitest';
import type {
  CommitBatch,
  CommitGroup,
  Position,
  Precondition,
  StoredCommit,
  StoredResource,
  Store,
  TextChange,
} from '../store.ts';

export interface ContractWorld {
  readonly store: Store;
  /** Another store on the same data, as another server would have it. */
  readonly another: () => Promise<Store>;
  /** Lets time pass on the store's clock. */
  readonly pass: (ms: number) => Promise<void>;
  /** A lease time that `pass` can outlast without making the suite slow. */
  readonly shortTtlMs: number;
  /** Whether a holder's session ends with its store, so that others take its lease at once. One process alone has none. */
  readonly sessions: 'end-with-store' | 'none';
  readonly close: () => Promise<void>;
}

export type MakeWorld = () => Promise<ContractWorld>;

/** A world for one test, taken down when the test ends. */
export async function worldOf(make: MakeWorld): Promise<ContractWorld> {
  const world = await make();
  onTestFinished(() => world.close());
  return world;
}

export const put = (id: string, body: unknown = { id }): TextChange => ({
  kind: 'host',
  id,
  body: JSON.stringify(body),
});
export const drop = (id: string): TextChange => ({ kind: 'host', id, body: null });
export const atRevision = (id: string, revision: number): Precondition => ({
  kind: 'at',
  resource: ['host', id],
  revision,
});
export const absent = (id: string): Precondition => ({ kind: 'absent', resource: ['host', id] });

let commitsMade = 0;

export function batch(changes: readonly TextChange[], more: Partial<CommitBatch> = {}): CommitBatch {
  commitsMade += 1;
  return { id: `commit-${commitsMade}`, atMs: 1000, by: 'contract', changes, preconditions: [], ...more };
}

export async function mustWrite(store: Store, ...batches: readonly CommitBatch[]): Promise<number> {
  return mustWriteGroup(store, { batches });
}

export async function mustWriteGroup(store: Store, group: CommitGroup): Promise<number> {
  const written = await store.write(group);
  if (written.kind !== 'written') throw new Error(`refused: ${JSON.stringify(written.conflict)}`);
  return written.revision;
}

/** Every commit after a position, page by page. */
export async function readAll(store: Store, after: Position = { revision: 0 }, limit = 100): Promise<StoredCommit[]> {
  const all: StoredCommit[] = [];
  for (let from = after; ;) {
    const answer = await store.read(from, limit);
    if (answer.kind !== 'commits') throw new Error(`cannot read from ${from.revision}: ${answer.kind}`);
    all.push(...answer.commits);
    const last = answer.commits.at(-1);
    if (last === undefined) return all;
    from = positionOf(last);
  }
}

/** Where a reader stands once it has a commit. */
export function positionOf({ revision, id, hash }: StoredCommit): Position {
  return { revision, commitId: id, ...(hash !== undefined && { hash }) };
}

export interface Snapshot {
  readonly position: Position;
  readonly resources: readonly StoredResource[];
}

export async function snapshotOf(store: Store): Promise<Snapshot> {
  const resources: StoredResource[] = [];
  const { damage, ...position } = await store.snapshot((page) => resources.push(...page));
  if (damage.length > 0) throw new Error(`damaged: ${JSON.stringify(damage)}`);
  return { position, resources: sortResources(resources) };
}

/** What the resources are once the commits are applied to them. */
export function replay(start: readonly StoredResource[], commits: readonly StoredCommit[]): readonly StoredResource[] {
  const resources = new Map(start.map((one) => [JSON.stringify([one.kind, one.id]), one]));
  for (const { revision, changes } of commits) {
    for (const { kind, id, body } of changes) {
      const key = JSON.stringify([kind, id]);
      if (body === null) resources.delete(key);
      else resources.set(key, { kind, id, revision, body });
    }
  }
  return sortResources([...resources.values()]);
}

function sortResources(resources: readonly StoredResource[]): readonly StoredResource[] {
  const key = ({ kind, id }: StoredResource): string => JSON.stringify([kind, id]);
  return resources.map((one) => ({ ...one })).sort((a, b) => (key(a) < key(b) ? -1 : 1));
}
