// A process full of simulated agents, over real HTTP. Their credentials are those that the store was seeded with, and they have
// the keys of the control plane, so none of them has to join. It reports now and then how many have a view from the server.
import { StateMemoryDisk, runSimulatedAgents, type Trust } from '../../src/agent/runtime.ts';
import { realClock } from '../../src/main/clock.ts';
import { realIds } from '../../src/main/ids.ts';
import { sampleHostId } from '../sample-hosts.ts';
import { agentTokenId, secretPart } from '../seeded-store.ts';

const [server = '', trust = '', ...numbers] = process.argv.slice(2);
const [first = 0, count = 0, heartbeatMs = 0, spreadMs = 0] = numbers.map(Number);
const TELL_MS = 1000;

const disks = new Map<string, StateMemoryDisk>();
for (let nth = first; nth < first + count; nth += 1) {
  const token = agentTokenId(nth);
  const disk = new StateMemoryDisk();
  const secret = secretPart(token);
  const current = { host: sampleHostId(nth), token, secret, joinToken: 'none', trust: JSON.parse(trust) as Trust };
  await disk.write('identity', JSON.stringify({ current }));
  disks.set(sampleHostId(nth), disk);
}

const quiet = (): void => {};
const { agents } = runSimulatedAgents({
  hosts: [...disks.keys()],
  servers: [server],
  joinToken: async () => undefined,
  clock: realClock,
  ids: realIds(),
  random: Math.random,
  log: { info: quiet, warn: quiet, error: (facts, text) => process.stderr.write(`${text} ${JSON.stringify(facts)}\n`) },
  heartbeatMs,
  spreadMs,
  diskOf: (host) => disks.get(host) ?? new StateMemoryDisk(),
});

setInterval(() => {
  const converged = agents.hosts.filter((host) => {
    const status = agents.statusOf(host);
    return status?.applied !== undefined && !status.isServerUnreachable;
  });
  process.send?.({ converged: converged.length });
}, TELL_MS);
// Whoever started it is gone.
process.on('disconnect', () => process.exit());
