// The journal under load: a number of callers in one process, each changing one host after the other, none of them waiting
// for another. What the journal made of it (how many commits in each transaction) is the script for the bare store.
import { put, Registry } from '../../src/fleet/index.ts';
import { HOST, hostsModel, type Host } from '../../src/hosts/index.ts';
import { accept, Journal, refuse, type CommitGroup, type Store, type WriteAnswer } from '../../src/journal/index.ts';
import { realClock } from '../../src/main/clock.ts';
import { realIds } from '../../src/main/ids.ts';
import { sitesModel } from '../../src/sites/index.ts';
import type { BenchScope } from '../scope.ts';
import { sampleHost, sampleHostId } from '../sample-hosts.ts';

/** Enough that callers never meet, few enough that they are soon loaded. */
const HOSTS = 2_048;
const LEASE = { name: 'fleet', holder: 'bench', url: 'http://127.0.0.1', ttlMs: 3_600_000 };
const LOAD_AT_ONCE = 512;

const hostsAndSites = (): Registry => new Registry([hostsModel, sitesModel]);

/** A journal that decides and follows, as in a server. */
export async function leadingJournal(scope: BenchScope, store: Store, registry = hostsAndSites()): Promise<Journal> {
  const journal = new Journal({ store, registry, clock: realClock, ids: realIds() });
  await journal.open();
  const answer = await store.acquireLease(LEASE);
  if (answer.kind !== 'held') throw new Error('the lease of a fresh store is taken');
  await journal.lead({ lease: LEASE.name, epoch: answer.lease.epoch });
  const over = new AbortController();
  const following = journal.follow(over.signal);
  scope.onClose(async () => {
    over.abort();
    await following;
  });
  return journal;
}

/** Fills a store with the hosts that the load will change. */
export async function fill(store: Store): Promise<void> {
  for (let first = 0; first < HOSTS; first += LOAD_AT_ONCE) {
    const changes = Array.from({ length: LOAD_AT_ONCE }, (_, at) => ({
      kind: HOST.name,
      id: sampleHostId(first + at),
      body: JSON.stringify(sampleHost(first + at)),
    }));
    const batch = { id: `load-${first}`, atMs: 0, by: 'bench', changes, preconditions: [] };
    const written = await store.write({ batches: [batch] });
    if (written.kind !== 'written') throw new Error('a fresh store refuses hosts');
  }
}

/** Passes everything on and notes how many commits each transaction had. */
export function countingGroups(store: Store, sizes: number[]): Store {
  const write = (group: CommitGroup): Promise<WriteAnswer> => {
    sizes.push(group.batches.length);
    return store.write(group);
  };
  return new Proxy(store, {
    get: (target, name) => {
      if (name === 'write') return write;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

export interface JournalLoad {
  readonly callers: number;
  readonly forMs: number;
}

/** Commits per second. */
export async function runLoad(journal: Journal, { callers, forMs }: JournalLoad): Promise<number> {
  const startedMs = performance.now();
  const untilMs = startedMs + forMs;
  const counts = await Promise.all(
    Array.from({ length: callers }, (_, nth) => oneCaller(journal, nth, callers, untilMs)),
  );
  const commits = counts.reduce((sum, count) => sum + count, 0);
  return (commits * 1000) / (performance.now() - startedMs);
}

async function oneCaller(journal: Journal, nth: number, callers: number, untilMs: number): Promise<number> {
  let made = 0;
  for (let host = nth; performance.now() < untilMs; host = (host + callers) % HOSTS) {
    const id = sampleHostId(host);
    const atMs = Date.now();
    const outcome = await journal.submit({
      by: 'token t-00000000000000000001',
      why: 'a benchmark',
      decide: (fleet) => {
        const found = fleet.get(HOST, id);
        if (found === undefined) return refuse({ kind: 'not-found', code: 'unknown-host', message: id });
        return accept([put(HOST, id, changed(found.doc, atMs))], null);
      },
    });
    if (outcome.kind !== 'accepted') throw new Error(`refused: ${outcome.refusal.message}`);
    made += 1;
  }
  return made;
}

function changed(host: Host, atMs: number): Host {
  return {
    ...host,
    baseWeight: (host.baseWeight + 1) % 1000,
    changedBy: 'token t-00000000000000000001',
    changedAtMs: atMs,
  };
}

/** What the bare store writes, one after the other and then again from the first. Made beforehand, not yet serialised. */
export function changedHosts(): readonly { readonly id: string; readonly doc: Host }[] {
  return Array.from({ length: HOSTS }, (_, nth) => ({
    id: sampleHostId(nth),
    doc: changed(sampleHost(nth), 1_750_000_000_000),
  }));
}
