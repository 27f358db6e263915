// The designated host leaves by plan, under load from instances on the hosts that stay.
import { runTrial } from '../trial.ts';
import { LabFleet, USUAL } from './fleet.ts';
import type { LabScenario } from './scenario.ts';

const HOSTS = 3;
const SERVICE = 'nat:edge';

export const scaleIn: LabScenario = {
  name: 'scale-in-of-the-designated-host',
  about: 'the host that translates is emptied, handed over and removed; the instances of the others go on',
  async run({ say, signal }) {
    const fleet = await LabFleet.start(HOSTS, say, signal);
    try {
      const leaving = await fleet.designated(SERVICE);
      const staying = fleet.instances.filter(({ host }) => host !== leaving);
      const event = async (): Promise<void> => {
        await fleet.muster.muster('scale-in', 'start', `h${leaving}`, '--wait', '--timeout', '60s');
        await fleet.muster.muster('scale-in', 'end', `h${leaving}`, '--disconnect', '--wait', '--timeout', '60s');
      };
      const outcome = await runTrial({ load: await fleet.load(USUAL, staying), event });
      if (outcome.kind !== 'passed') return outcome;
      const { names } = fleet.underlay.host(leaving);
      const hosts = fleet.underlay.hosts.filter((host) => host.names.number !== leaving);
      const traces: string[] = [];
      for (const host of hosts) {
        const text = `${await host.ofctl('dump-flows', 'br-int')}${await host.ofctl('dump-groups', 'br-int')}`;
        if (new RegExp(`\\b${names.tunnelAddress.replaceAll('.', '\\.')}\\b`).test(text)) {
          traces.push(`${host.names.name} still names ${names.name}`);
        }
      }
      traces.push(...(await fleet.waitForConvergence(hosts)));
      return traces.length === 0 ? outcome : { kind: 'failed', verdict: outcome.verdict, problems: traces };
    } finally {
      await fleet.close();
    }
  },
};
