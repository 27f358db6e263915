// A journal with a fleet in it, written straight to the store: what a server finds that has run for a while. Tokens with
// known secrets are part of it, so that none has to be requested.
import { hash } from 'node:crypto';
import { join } from 'node:path';
import { secretText, TOKEN, type Token } from '../src/access/index.ts';
import { HOST } from '../src/hosts/index.ts';
import type { Store, TextChange } from '../src/journal/index.ts';
import { openSqliteStore } from '../src/journal/runtime.ts';
import { SITE, type Site } from '../src/sites/index.ts';
import { sampleHost, sampleHostId, SAMPLE_SITE } from './sample-hosts.ts';

export interface Seed {
  readonly hosts: number;
  /** Each host has an agent with a credential. */
  readonly agents?: boolean;
  /** Tokens of clients. Each may send a thousand requests a second, so a load needs several. */
  readonly clients?: number;
}

/** Makes the embedded store of a data folder, with a fleet in it; the id of its journal. */
export async function seedFolder(folder: string, seed: Seed): Promise<string> {
  const store = await openSqliteStore({ path: join(folder, DATABASE_FILE) });
  await seedStore(store, seed);
  await store.close();
  return store.journalId;
}

/** Where `muster serve` keeps its journal. */
export const DATABASE_FILE = 'muster.db';
const CHANGES_AT_ONCE = 1000;
const LONG_AGO_MS = Date.UTC(2025, 0, 1);

/** The same text for the same id: whoever plays the client computes it as well. */
export function seededSecret(tokenId: string): string {
  return secretText(tokenId, secretPart(tokenId));
}

export function secretPart(tokenId: string): string {
  return `${tokenId}-`.padEnd(43, 'x');
}

export const clientTokenId = (nth: number): string => `bench-client-${nth}`;
export const agentTokenId = (nth: number): string => `bench-agent-${nth}`;

export function seedStore(store: Store, seed: Seed): Promise<void> {
  return writeSeed(store, seedChanges(seed));
}

/** Writes documents to a fresh store, a thousand in a commit. */
export async function writeSeed(store: Store, documents: Iterable<TextChange>): Promise<void> {
  let changes: TextChange[] = [];
  let batches = 0;
  const flush = async (): Promise<void> => {
    batches += 1;
    const batch = { id: `seed-${batches}`, atMs: Date.now(), by: 'bench', changes, preconditions: [] };
    const written = await store.write({ batches: [batch] });
    if (written.kind !== 'written') throw new Error('a fresh store refuses its seed');
    changes = [];
  };
  for (const change of documents) {
    changes.push(change);
    if (changes.length === CHANGES_AT_ONCE) await flush();
  }
  await flush();
}

function* seedChanges({ hosts, agents = false, clients = 0 }: Seed): Generator<TextChange> {
  const site: Site = { name: SAMPLE_SITE, changedBy: 'bench', changedAtMs: LONG_AGO_MS };
  yield { kind: SITE.name, id: SAMPLE_SITE, body: JSON.stringify(site) };
  yield* clientTokens(clients);
  for (let nth = 0; nth < hosts; nth += 1) {
    const host = sampleHost(nth);
    const credential = agents ? agentTokenId(nth) : host.credential;
    yield { kind: HOST.name, id: sampleHostId(nth), body: JSON.stringify({ ...host, credential }) };
    if (agents) yield token(agentTokenId(nth), { role: 'agent', host: sampleHostId(nth) });
  }
}

export function* clientTokens(count: number): Generator<TextChange> {
  for (let nth = 0; nth < count; nth += 1) yield token(clientTokenId(nth), { role: 'admin' });
}

/** Each may send a thousand requests a second, so a load needs several. */
export const managerTokenId = (name: string, nth = 0): string => `bench-manager-${name}-${nth}`;

export function managerToken(name: string, nth = 0): TextChange {
  return token(managerTokenId(name, nth), { role: 'manager', manager: name });
}

function token(id: string, bound: Pick<Token, 'role' | 'host' | 'manager'>): TextChange {
  const doc: Token = {
    name: id,
    ...bound,
    hash: hash('sha256', seededSecret(id), 'hex'),
    createdAtMs: LONG_AGO_MS,
    createdBy: 'bench',
  };
  return { kind: TOKEN.name, id, body: JSON.stringify(doc) };
}
