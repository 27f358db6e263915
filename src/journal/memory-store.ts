// A store in memory, for the simulation and for unit tests, on a disk that several of them may share.
import { chainCommits, type ChainedCommit } from './chain.ts';
import { ChainWalk } from './chain-walk.ts';
import { chooseHistoryPage, PAGE_BYTES_MAX } from './page-bytes.ts';
import type { DiskState, MemoryDisk, StoredLease } from './memory-disk.ts';
import { sha256 } from './sha256-store.ts';
import type {
  CommitBatch,
  WriteConflict,
  CommitGroup,
  HistoryPage,
  HistoryQuery,
  Lease,
  LeaseAnswer,
  LeaseRequest,
  VacancyWait,
  Position,
  Precondition,
  ReadAnswer,
  StoredCommit,
  StoredResource,
  SnapshotAnswer,
  Store,
  TextChange,
  WriteAnswer,
} from './store.ts';

const keyOf = (kind: string, id: string): string => `${kind}/${id}`;

export class MemoryStore implements Store {
  readonly #disk: MemoryDisk;
  /** Those who took a lease through this store: their sessions end with it. */
  readonly #holders = new Set<string>();

  constructor(disk: MemoryDisk) {
    this.#disk = disk;
  }

  get journalId(): string {
    return this.#disk.journalId;
  }

  async write(group: CommitGroup): Promise<WriteAnswer> {
    const conflict = this.#conflictOf(group);
    if (conflict !== undefined) return { kind: 'conflict', conflict };
    const head = headOf(this.#disk.state).revision;
    const { hash: before = null } = headOf(this.#disk.state);
    const chained = chainCommits(sha256, { revision: head, hash: before }, group.batches);
    this.#disk.change((state) =>
      group.batches.forEach(({ preconditions: _, ...commit }, at) => {
        const { hash } = chained[at] as ChainedCommit;
        addCommit(state, { ...commit, revision: head + at + 1, hash });
      }),
    );
    this.#disk.flush();
    this.#disk.announce();
    const hash = chained.at(-1)?.hash;
    return { kind: 'written', revision: head + group.batches.length, ...(hash !== undefined && { hash }) };
  }

  #conflictOf(group: CommitGroup): WriteConflict | undefined {
    const { state } = this.#disk;
    const head = headOf(state).revision;
    if (group.fence !== undefined) {
      const lease = state.leases.get(group.fence.lease);
      const expired = lease === undefined || lease.expiresAtMs <= this.#disk.nowMs();
      const { epoch, holder = lease?.holder } = group.fence;
      if (lease?.epoch !== epoch || lease.holder !== holder || expired) {
        return { kind: 'lease', lease: group.fence.lease, epoch, actualEpoch: lease?.epoch ?? 0, expired };
      }
    }
    if (group.expectedHead !== undefined && group.expectedHead !== head) {
      return { kind: 'head', expected: group.expectedHead, actual: head };
    }
    return resourceConflict(state, group.batches, head);
  }

  async read(after: Position, limit: number): Promise<ReadAnswer> {
    const { commits, floor } = this.#disk.state;
    const head = headOf(this.#disk.state).revision;
    if (after.revision > head) return { kind: 'diverged', head };
    if (after.revision < floor.revision) return { kind: 'gone', oldest: floor.revision + 1 };
    const start = after.revision - floor.revision;
    const last = start === 0 ? floor : toPosition(commits[start - 1] as StoredCommit);
    if (after.commitId !== undefined && last.commitId !== after.commitId) return { kind: 'diverged', head };
    if (after.hash !== undefined && last.hash !== after.hash) return { kind: 'diverged', head };
    const walk = new ChainWalk(sha256, {
      after: { revision: last.revision, hash: last.hash ?? null },
      chainedFrom: 1,
    });
    const found = pageOf(commits.slice(start, start + limit));
    for (const commit of found) {
      const damage = walk.take(commit);
      if (damage !== undefined) return { kind: 'damaged', damage };
    }
    return { kind: 'commits', commits: found, head };
  }

  async snapshot(take: (page: readonly StoredResource[]) => void): Promise<SnapshotAnswer> {
    const { state } = this.#disk;
    take([...state.resources.values()].sort((a, b) => (keyOf(a.kind, a.id) < keyOf(b.kind, b.id) ? -1 : 1)));
    return { ...headOf(state), damage: [] };
  }

  async history(query: HistoryQuery): Promise<HistoryPage> {
    const { kind, id, operation, before = Infinity, limit } = query;
    const isWanted = (one: TextChange): boolean =>
      (kind === undefined || one.kind === kind) && (id === undefined || one.id === id);
    const matches = (commit: StoredCommit): boolean =>
      commit.revision < before &&
      (operation === undefined || commit.operation === operation) &&
      (kind === undefined || commit.changes.some(isWanted));
    const found = this.#disk.state.commits
      .toReversed()
      .filter(matches)
      .slice(0, limit + 1);
    const sized = found.map(({ revision, changes }) => ({ revision, bytes: textBytes(changes) }));
    const { revisions, next } = chooseHistoryPage(sized, limit);
    const commits = found
      .slice(0, revisions.length)
      .map((commit) => ({ ...commit, changes: commit.changes.filter(isWanted) }));
    return { commits, ...(next !== undefined && { next }) };
  }

  waitForChange(revision: number, signal: AbortSignal): Promise<void> {
    return headOf(this.#disk.state).revision > revision ? Promise.resolve() : this.#disk.waitForAnnouncement(signal);
  }

  async compact(beforeMs: number, limit: number): Promise<number> {
    const { commits } = this.#disk.state;
    const young = commits.findIndex((commit) => commit.atMs >= beforeMs);
    const old = young === -1 ? commits.length : young;
    const count = Math.min(limit, old, commits.length - 1);
    if (count <= 0) return 0;
    this.#disk.change((state) => {
      const last = state.commits.splice(0, count).at(-1) as StoredCommit;
      state.floor = toPosition(last);
    });
    this.#disk.flush();
    return count;
  }

  async acquireLease(request: LeaseRequest): Promise<LeaseAnswer> {
    const nowMs = this.#disk.nowMs();
    const lease = this.#disk.state.leases.get(request.name);
    const isTaken =
      lease !== undefined && lease.expiresAtMs > nowMs && !this.#disk.isAbandoned(request.name, lease.epoch);
    if (isTaken) return { kind: 'refused', lease: toLease(lease, nowMs) };
    return this.#keepLease(request, (lease?.epoch ?? 0) + 1, nowMs);
  }

  async renewLease(request: LeaseRequest & { readonly epoch: number }): Promise<LeaseAnswer> {
    const nowMs = this.#disk.nowMs();
    const lease = this.#disk.state.leases.get(request.name);
    if (lease === undefined) return { kind: 'refused', lease: undefined };
    const mine = lease.epoch === request.epoch && lease.holder === request.holder && lease.expiresAtMs > nowMs;
    return mine ? this.#keepLease(request, lease.epoch, nowMs) : { kind: 'refused', lease: toLease(lease, nowMs) };
  }

  #keepLease(request: LeaseRequest, epoch: number, nowMs: number): LeaseAnswer {
    const { name, holder, url, ttlMs, endsWith = 'session' } = request;
    const lease: StoredLease = { name, holder, url, epoch, expiresAtMs: nowMs + ttlMs, endsWith };
    this.#disk.change((state) => state.leases.set(name, lease));
    this.#disk.flush();
    if (endsWith === 'session') {
      this.#disk.beginTenure(name, { holder, epoch });
      this.#holders.add(holder);
    }
    return { kind: 'held', lease: toLease(lease, nowMs) };
  }

  async releaseLease(name: string, epoch: number): Promise<void> {
    const lease = this.#disk.state.leases.get(name);
    if (lease?.epoch !== epoch) return;
    const released = { ...lease, expiresAtMs: this.#disk.nowMs() };
    this.#disk.change((state) => state.leases.set(name, released));
    this.#disk.flush();
    this.#disk.endSession(lease.holder);
  }

  async readLease(name: string): Promise<Lease | undefined> {
    const lease = this.#disk.state.leases.get(name);
    return lease === undefined ? undefined : toLease(lease, this.#disk.nowMs());
  }

  async readLeases(prefix: string): Promise<readonly Lease[]> {
    const nowMs = this.#disk.nowMs();
    const found = [...this.#disk.state.leases.values()].filter(({ name }) => name.startsWith(prefix));
    return found.sort((a, b) => (a.name < b.name ? -1 : 1)).map((lease) => toLease(lease, nowMs));
  }

  async awaitVacancy({ name, signal }: VacancyWait): Promise<void> {
    const lease = this.#disk.state.leases.get(name);
    const isTaken = lease !== undefined && lease.expiresAtMs > this.#disk.nowMs();
    if (isTaken && !this.#disk.isAbandoned(name, lease.epoch)) await this.#disk.waitForVacancy(signal);
  }

  async close(): Promise<void> {
    for (const holder of this.#holders) this.#disk.endSession(holder);
  }
}

function textBytes(changes: readonly TextChange[]): number {
  return changes.reduce((bytes, { body }) => bytes + (body?.length ?? 0), 0);
}

/** As many as fit a page of bytes. */
function pageOf(commits: readonly StoredCommit[]): readonly StoredCommit[] {
  let bytes = 0;
  const cut = commits.findIndex((commit) => {
    const isFull = bytes >= PAGE_BYTES_MAX;
    bytes += textBytes(commit.changes);
    return isFull;
  });
  return cut === -1 ? commits : commits.slice(0, cut);
}

function headOf(state: DiskState): Position {
  const last = state.commits.at(-1);
  return last === undefined ? state.floor : toPosition(last);
}

function toPosition({ revision, id: commitId, hash }: StoredCommit): Position {
  return { revision, commitId, ...(hash !== undefined && { hash }) };
}

function addCommit(state: DiskState, commit: StoredCommit): void {
  const { revision } = commit;
  state.commits.push(commit);
  for (const { kind, id, body } of commit.changes) {
    if (body === null) state.resources.delete(keyOf(kind, id));
    else state.resources.set(keyOf(kind, id), { kind, id, revision, body });
  }
}

function resourceConflict(state: DiskState, batches: readonly CommitBatch[], head: number): WriteConflict | undefined {
  const inGroup = new Map<string, number | 'absent'>();
  for (const [at, batch] of batches.entries()) {
    for (const precondition of batch.preconditions) {
      const [kind, id] = precondition.resource;
      const key = keyOf(kind, id);
      const actual = inGroup.get(key) ?? state.resources.get(key)?.revision ?? 'absent';
      const expected = expectedRevisionOf(precondition);
      if (actual !== expected) {
        return { kind: 'resource', batch: at, resource: precondition.resource, expected, actual };
      }
    }
    for (const { kind, id, body } of batch.changes)
      inGroup.set(keyOf(kind, id), body === null ? 'absent' : head + at + 1);
  }
  return undefined;
}

function expectedRevisionOf(precondition: Precondition): number | 'absent' {
  return precondition.kind === 'at' ? precondition.revision : 'absent';
}

function toLease(lease: StoredLease, nowMs: number): Lease {
  const { expiresAtMs, endsWith: _, ...rest } = lease;
  return { ...rest, expiresInMs: expiresAtMs - nowMs };
}
