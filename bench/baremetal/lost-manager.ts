// One of five managers is lost: real manager programs at a real server, durable, each acting on as many nodes; one is killed, and its lease runs out. Measured is
// from then until each of its nodes is another's. Only its nodes may move, and all managers must have as many afterwards.
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { DatabaseSync } from 'node:sqlite';
import { SETTING } from '../../src/fleet/index.ts';
import { managerLease, type Node } from '../../src/baremetal/model.ts';
import { MANAGERS } from '../../src/baremetal/managers/settings.ts';
import { openSqliteStore } from '../../src/journal/runtime.ts';
import type { TextChange } from '../../src/journal/index.ts';
import { atLeast, below, noGoal, type Benchmark, type Figure } from '../benchmark.ts';
import type { BenchScope } from '../scope.ts';
import {
  clientTokenId,
  clientTokens,
  DATABASE_FILE,
  managerToken,
  managerTokenId,
  seededSecret,
  writeSeed,
} from '../seeded-store.ts';
import { spawnNode, startServer, threadsCpuUs, type ServerProcess } from '../server-process.ts';
import { managerOfSeed, MANAGERS_OF_SEED, seedManagers, seedNodes } from './sample-nodes.ts';

const NODES_EACH = 20_000;
const NODES = NODES_EACH * MANAGERS_OF_SEED;
const LIMIT_MS = 1000;
const EVEN_GOAL = 1.05;
const LOST = managerOfSeed(0);
/** As they are unless said. */
const LEASES = { leaseMs: 15_000, renewMs: 5000 };
const PATIENCE_MS = 120_000;
const LOOK_EVERY_MS = 50;

const ENTRY = resolve(import.meta.dirname, '../../src/main/main.ts');

function* fleetInUse(): Generator<TextChange> {
  const changed = { changedBy: 'bench', changedAtMs: Date.UTC(2025, 0, 1) };
  yield { kind: SETTING.name, id: MANAGERS.name, body: JSON.stringify({ value: LEASES, ...changed }) };
  yield* clientTokens(1);
  for (let nth = 0; nth < MANAGERS_OF_SEED; nth += 1) yield managerToken(managerOfSeed(nth));
  yield* seedManagers();
  yield* seedNodes(NODES, 'all in use');
}

async function run(scope: BenchScope): Promise<Figure[]> {
  const data = await scope.tempDir();
  const path = join(data, DATABASE_FILE);
  const store = await openSqliteStore({ path });
  await writeSeed(store, fleetInUse());
  // Under these leases they acquired them, which are over.
  for (let nth = 0; nth < MANAGERS_OF_SEED; nth += 1) {
    const lease = { name: managerLease(managerOfSeed(nth)), holder: 'bench', url: '', ttlMs: 1 };
    await store.acquireLease(lease);
  }
  await store.close();
  const server = await startServer(scope, { data });
  const programs = new Map<string, { kill: (signal: 'SIGKILL') => boolean }>();
  for (let nth = 0; nth < MANAGERS_OF_SEED; nth += 1) {
    const name = managerOfSeed(nth);
    programs.set(name, await startProgram(scope, { name, server, data }));
  }
  // Each takes its own nodes back, under its present lease.
  const database = new DatabaseSync(path, { readOnly: true });
  scope.onClose(() => database.close());
  await until(scope, 'each manager has its nodes', async () => {
    const rows = await rowsOf(server);
    return (
      rows.length === MANAGERS_OF_SEED &&
      rows.every(({ usedHere }) => usedHere === NODES_EACH) &&
      unacquired(database) === 0
    );
  });
  const before = ownersOf(database);
  const epochs = epochsOf(database);
  programs.get(LOST)?.kill('SIGKILL');
  await setTimeout(LEASES.leaseMs - LEASES.renewMs - LOOK_EVERY_MS);
  const cpuBeforeUs = await threadsCpuUs(server.pid);
  await until(scope, 'all nodes have other managers', async () =>
    (await rowsOf(server)).every(({ name, usedHere }) => name !== LOST || usedHere === 0),
  );
  // Counters show what is decided; what is counted below must be durable.
  await until(scope, 'all of it is written', async () => ownedBy(database, LOST) === 0);
  const cpuUs = (await threadsCpuUs(server.pid)) - cpuBeforeUs;
  // One that lost its lease too takes back its own: that would be another measurement.
  if ([...epochsOf(database)].some(([name, epoch]) => epochs.get(name) !== epoch))
    throw new Error('another manager lost its lease meanwhile: the machine is too busy');
  return figuresOf(database, before, cpuUs);
}

function figuresOf(database: DatabaseSync, before: ReadonlyMap<string, string>, cpuUs: number): Figure[] {
  const after = ownersOf(database);
  const moved = [...after].filter(([node, manager]) => before.get(node) !== manager);
  const strays = moved.filter(([node]) => before.get(node) !== LOST);
  if (strays.length > 0) throw new Error(`${strays.length} nodes moved that were not the lost manager's`);
  if (moved.length !== NODES_EACH) throw new Error(`${moved.length} nodes moved`);
  const { endedMs, lostMs, ownedMs } = timesOf(database);
  const counts = new Map<string, number>();
  for (const manager of after.values()) counts.set(manager, (counts.get(manager) ?? 0) + 1);
  const evenness = (Math.max(...counts.values()) * counts.size) / NODES;
  const value = ownedMs - endedMs;
  const peer = `limit: ${LIMIT_MS} ms; declared lost after ${lostMs - endedMs} ms`;
  const name = `baremetal-lost-manager-${NODES_EACH}`;
  return [
    { name, value, unit: 'ms', peer, ...below(1, value / LIMIT_MS) },
    {
      name: `${name}-cpu`,
      value: cpuUs / NODES_EACH,
      unit: 'us/node',
      peer: 'processor time of the server',
      ...noGoal(1),
    },
    {
      name: `${name}-even`,
      value: evenness,
      unit: 'max/mean',
      peer: `limit: ${EVEN_GOAL}; only its nodes moved`,
      ...atLeast(1, EVEN_GOAL / evenness),
    },
  ];
}

/** On the server's clock, which is this machine's: when the lease ended, when that was committed, and when the last node was another's. */
function timesOf(database: DatabaseSync): {
  readonly endedMs: number;
  readonly lostMs: number;
  readonly ownedMs: number;
} {
  const at = (sql: string, ...values: string[]): number => Number(database.prepare(sql).get(...values)?.['at']);
  return {
    endedMs: at('SELECT expires_at_ms AS at FROM lease WHERE name = ?', managerLease(LOST)),
    lostMs: at("SELECT max(at_ms) AS at FROM commit_log WHERE why LIKE 'lost: %'"),
    ownedMs: at("SELECT max(at_ms) AS at FROM commit_log WHERE why LIKE '% acquires nodes'"),
  };
}

function nodesIn(database: DatabaseSync): { readonly id: string; readonly doc: Node }[] {
  const rows = database.prepare("SELECT id, body FROM resource WHERE kind = 'node'").all();
  return rows.map(({ id, body }) => ({ id: String(id), doc: JSON.parse(String(body)) as Node }));
}

function ownersOf(database: DatabaseSync): Map<string, string> {
  return new Map(nodesIn(database).map(({ id, doc }) => [id, doc.manager ?? '']));
}

function ownedBy(database: DatabaseSync, manager: string): number {
  return [...ownersOf(database).values()].filter((owner) => owner === manager).length;
}

/** Of the leases of the managers. */
function epochsOf(database: DatabaseSync): Map<string, number> {
  const managers = database.prepare("SELECT id, body FROM resource WHERE kind = 'manager'").all();
  return new Map(
    managers.map(({ id, body }) => [String(id), (JSON.parse(String(body)) as { leaseEpoch: number }).leaseEpoch]),
  );
}

/** Nodes that their manager has not taken back yet. */
function unacquired(database: DatabaseSync): number {
  const epochs = epochsOf(database);
  return nodesIn(database).filter(({ doc }) => doc.managerEpoch !== epochs.get(doc.manager ?? '')).length;
}

interface Row {
  readonly name: string;
  readonly usedHere: number;
}

async function rowsOf({ url }: ServerProcess): Promise<readonly Row[]> {
  const headers = { authorization: `Bearer ${seededSecret(clientTokenId(0))}` };
  const answer = await fetch(`${url}/api/v1/managers`, { headers });
  return ((await answer.json()) as { readonly items: readonly Row[] }).items;
}

interface Program {
  readonly name: string;
  readonly server: ServerProcess;
  readonly data: string;
}

async function startProgram(scope: BenchScope, { name, server, data }: Program) {
  const file = join(data, `token-${name}`);
  await writeFile(file, seededSecret(managerTokenId(name)), { mode: 0o600 });
  const args = ['manager', '--name', name, '--server', server.url, '--token-file', file, '--log-level', 'error'];
  return spawnNode(scope, [ENTRY, ...args]);
}

async function until(scope: BenchScope, what: string, isSo: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + PATIENCE_MS;
  while (!(await isSo())) {
    scope.check();
    if (performance.now() > deadlineMs) throw new Error(`not in time: ${what}`);
    await setTimeout(LOOK_EVERY_MS);
  }
}

export const lostManager: Benchmark = {
  name: 'baremetal-lost-manager',
  about: `one of ${MANAGERS_OF_SEED} managers with ${NODES_EACH} nodes each is killed: from the end of its lease until all its nodes are others', durable on SQLite`,
  seconds: 50,
  run,
};
