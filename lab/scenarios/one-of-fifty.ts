// One of fifty hosts leaves by plan: how soon nothing on the others names it any more. The load is light, since everything runs on
// one machine; the instances that send are on hosts that stay.
import { setTimeout } from 'node:timers/promises';
import { runConcurrently } from '../run-concurrently.ts';
import { runTrial } from '../trial.ts';
import type { LabHost } from '../underlay/host.ts';
import { LabFleet, USUAL } from './fleet.ts';
import type { LabScenario } from './scenario.ts';

const HOSTS = 50;
const SENDERS = 3;
const LIMIT_MS = 1000;
const LOOK_MS = 10;
const PATIENCE_MS = 60_000;
/** Readers of switches beside each other: two cores have no use for more. */
const READERS = 4;
const LIGHT = { ...USUAL, echoPerSecond: 60, pushPerSecond: 20, tcp: false, beginning: false };

export const oneOfFifty: LabScenario = {
  name: 'one-of-fifty-leaves',
  about: `one of ${HOSTS} hosts is emptied and removed; how soon the others have nothing of it`,
  async run({ say, signal }) {
    const fleet = await LabFleet.start(HOSTS, say, signal);
    try {
      // This is about what is cleared away. Ten heartbeats a second of fifty switches would take three quarters of two cores.
      await fleet.setElection({ bfdIntervalMs: 1000 });
      // A full mesh of tunnels: all the others have something to clear away.
      await fleet.muster.muster('transport-zones', 'edit', 'default', '--mesh', 'full');
      const leaving = await fleet.designated('nat:edge');
      const staying = fleet.instances.filter(({ host }) => host !== leaving).slice(0, SENDERS);
      const { muster, underlay } = fleet;
      const { name, tunnelAddress } = underlay.host(leaving).names;
      await muster.muster('scale-in', 'start', name, '--wait', '--timeout', '120s');
      const hosts = underlay.hosts.filter(({ names }) => names.number !== leaving);
      const before = await findHostsNaming(hosts, tunnelAddress);
      let cleanMs = NaN;
      const event = async (): Promise<void> => {
        // Not by the command line: it would start on the cores that fifty hosts share already.
        await muster.client.post('/scale-in/end', { hosts: [name], disconnect: true });
        cleanMs = await measureCleanUpMs(fleet, name);
      };
      const outcome = await runTrial({ load: await fleet.load(LIGHT, staying), event });
      if (outcome.kind === 'machine-too-busy') return outcome;
      const figures = [`clean at ${hosts.length} after ${Math.round(cleanMs)} ms`];
      const problems = [
        ...(outcome.kind === 'failed' ? outcome.problems : []),
        ...(before.length < hosts.length ? [`only ${before.length} of ${hosts.length} named ${name} before`] : []),
        ...(await findHostsNaming(hosts, tunnelAddress)).map((one) => `${one} still names ${name}`),
        ...(cleanMs <= LIMIT_MS ? [] : [`the others were clean only after ${Math.round(cleanMs)} ms`]),
        ...(await fleet.waitForConvergence(hosts)),
      ];
      const { verdict } = outcome;
      return problems.length === 0
        ? { kind: 'passed', verdict, figures }
        : { kind: 'failed', verdict, figures, problems };
    } finally {
      await fleet.close();
    }
  },
};

/** From the commit that removes the host until the last of them has read back that it has nothing of the host any more. */
async function measureCleanUpMs({ muster }: LabFleet, name: string): Promise<number> {
  let reportedAtMs: number | undefined;
  const deadlineMs = performance.now() + PATIENCE_MS;
  while (performance.now() < deadlineMs) {
    const { state } = (await muster.client.get(`/hosts/${name}`)) as { readonly state: string };
    if (state === 'finalizing') reportedAtMs ??= performance.now();
    // It may be over between two looks.
    if (state === 'removed') return reportedAtMs === undefined ? LOOK_MS : performance.now() - reportedAtMs;
    await setTimeout(LOOK_MS);
  }
  throw new Error(`${name} is not removed after ${PATIENCE_MS} ms`);
}

/** Who has something that names this address, by the switch's own tool. */
async function findHostsNaming(hosts: readonly LabHost[], address: string): Promise<string[]> {
  const word = new RegExp(`\\b${address.replaceAll('.', '\\.')}\\b`);
  const found: string[] = [];
  await runConcurrently(hosts, READERS, async (host) => {
    const text = `${await host.ofctl('dump-flows', 'br-int')}${await host.ofctl('dump-groups', 'br-int')}`;
    if (word.test(text)) found.push(host.names.name);
  });
  return found.sort();
}
