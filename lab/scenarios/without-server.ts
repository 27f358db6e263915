// No server for a minute: it is killed under load. Nothing is lost, nothing on any switch is written anew, and
// whoever was designated still is when the server is back.
import { setTimeout } from 'node:timers/promises';
import { runTrial } from '../trial.ts';
import type { LabHost } from '../underlay/host.ts';
import { LabFleet, USUAL } from './fleet.ts';
import type { LabScenario } from './scenario.ts';

const HOSTS = 3;
const SERVICE = 'nat:edge';
const AWAY_MS = 60_000;
/** In so long a time, a port that a flow has done with is given to another one. */
const LOAD = { ...USUAL, beginning: false };

export const withoutServer: LabScenario = {
  name: 'a-minute-without-a-server',
  about: 'the server is away for a minute: nothing is lost, and nothing on any switch is written anew',
  async run({ say, signal }) {
    const fleet = await LabFleet.start(HOSTS, say, signal);
    try {
      const ready = await fleet.waitForConvergence();
      if (ready.length > 0) throw new Error(ready.join('; '));
      const { hosts } = fleet.underlay;
      const before = await fleet.service(SERVICE);
      const written: string[] = [];
      const event = async (): Promise<void> => {
        await fleet.muster.kill('server');
        await setTimeout(AWAY_MS);
        for (const host of hosts) if ((await youngest(host)) * 1000 < AWAY_MS) written.push(host.names.name);
        await fleet.muster.start('server');
        for (const { names } of hosts) await fleet.muster.untilUp(names.number);
      };
      const outcome = await runTrial({ load: await fleet.load(LOAD), event });
      if (outcome.kind === 'machine-too-busy') return outcome;
      const after = await fleet.service(SERVICE);
      const problems = [
        ...(outcome.kind === 'failed' ? outcome.problems : []),
        ...written.map((host) => `something was written on ${host} meanwhile`),
        ...(after.epoch === before.epoch ? [] : [`${SERVICE} was elected anew`]),
        ...(await fleet.waitForConvergence()),
      ];
      const { verdict } = outcome;
      return problems.length === 0 ? { kind: 'passed', verdict } : { kind: 'failed', verdict, problems };
    } finally {
      await fleet.close();
    }
  },
};

/** Seconds since a flow was last written there. */
async function youngest(host: LabHost): Promise<number> {
  const flows = await host.ofctl('dump-flows', 'br-int');
  return Math.min(...[...flows.matchAll(/duration=([\d.]+)s/g)].map(([, age]) => Number(age)));
}
