// What nodes cost while nothing happens: memory of a server for each, with all indexes and projections, and the time until a server with many is ready.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { join } from 'node:path';
import { Fleet, type Id } from '../../src/fleet/index.ts';
import { openSqliteStore } from '../../src/journal/runtime.ts';
import { PROGRAM } from '../../src/main/modules.ts';
import { below, type Benchmark, type Figure } from '../benchmark.ts';
import { measureColdStart } from '../cold-start.ts';
import { DATABASE_FILE, writeSeed } from '../seeded-store.ts';
import { seedNodes } from './sample-nodes.ts';

const NODES = 100_000;
const BYTES_MAX = 2048;
/** Those of as many hosts. */
const LIMITS = { seconds: 2.5, megabytes: 500 };

export const nodeMemoryBenchmark: Benchmark = {
  name: 'baremetal-node-memory',
  about: `the heap that ${NODES} nodes take, half of them in use, with all indexes and projections`,
  seconds: 10,
  run: () => Promise.resolve([measureMemory()]),
};

function measureMemory(): Figure {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const heapBytes = (): number => {
    // What one collection frees may keep other things alive until the next.
    for (let times = 0; times < 3; times += 1) collect();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const fleet = new Fleet(PROGRAM.newRegistry());
  const before = heapBytes();
  let revision = 0;
  // As they come from the journal: each with texts of its own.
  for (const { kind, id, body } of seedNodes(NODES, 'half in use')) {
    revision += 1;
    fleet.load(kind, { id: id as Id<string>, revision, doc: JSON.parse(body ?? '') as object });
  }
  fleet.finishLoad(revision);
  const value = (heapBytes() - before) / NODES;
  if (fleet.revision !== NODES) throw new Error('the fleet is not whole');
  return {
    ...{ name: 'baremetal-node-memory', value, unit: 'bytes/node', peer: `limit: ${BYTES_MAX} bytes` },
    ...below(1, value / BYTES_MAX),
  };
}

export const nodesColdStart: Benchmark = {
  name: 'baremetal-cold-start',
  about: `a server process until /readyz is 200, and its peak memory, with ${NODES} nodes in SQLite`,
  seconds: 50,
  run: async (scope) => {
    const data = await scope.tempDir();
    const store = await openSqliteStore({ path: join(data, DATABASE_FILE) });
    await writeSeed(store, seedNodes(NODES, 'half in use'));
    await store.close();
    return measureColdStart(scope, { name: 'baremetal-cold-start', data, limits: LIMITS, isGoal: false });
  },
};
