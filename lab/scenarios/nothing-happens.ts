// The lab tries itself: flows by hand, the usual load with everything in it, and nothing happens. What is lost here is lost by the
// lab or by the machine.
import { withOverruns } from '../receive-overruns.ts';
import { startStaticFlows } from '../static-flows.ts';
import { Endpoint } from '../traffic/endpoint.ts';
import { runLoad } from '../traffic/load.ts';
import type { TrafficResults } from '../traffic/results.ts';
import { ECHO_PER_SECOND, LOAD_MS, PUSH_PER_SECOND, usualFlows, type UsualLoad } from '../traffic/usual-load.ts';
import { runTrial } from '../trial.ts';
import { OUTSIDE } from '../underlay/names.ts';
import { Underlay } from '../underlay/underlay.ts';
import type { LabScenario } from './scenario.ts';

const HOSTS = 3;
const PORT = 7000;
const USUAL: UsualLoad = {
  address: OUTSIDE.address,
  port: PORT,
  echoPerSecond: ECHO_PER_SECOND,
  pushPerSecond: PUSH_PER_SECOND,
  tcp: true,
  beginning: true,
};

export const nothingHappens: LabScenario = {
  name: 'nothing-happens',
  about: 'flows written by hand, three hosts, the usual load: shows that the lab itself loses nothing',
  async run({ say, signal }) {
    const underlay = await Underlay.start({ hosts: HOSTS, say, signal });
    try {
      return await runTrial({ load: await loadByHand(underlay), event: async () => undefined });
    } finally {
      await underlay.close();
    }
  },
};

/** The load from one instance on each host to the outside, ready to be run as often as it is needed. */
async function loadByHand(
  underlay: Underlay,
  usual: UsualLoad = USUAL,
): Promise<(event?: () => Promise<void>) => Promise<TrafficResults>> {
  const machines = await startStaticFlows(underlay);
  const server = new Endpoint(underlay.names.external);
  await server.serve(usual.port);
  const flows = usualFlows(machines.length, usual);
  const sources = machines.map(({ namespace }, index) => ({
    endpoint: new Endpoint(namespace),
    flows: flows[index] ?? [],
  }));
  const pings = machines.slice(1, 2).map(({ namespace }) => ({ namespace, address: usual.address, everyMs: 20 }));
  const times = { durationMs: LOAD_MS, eventAfterMs: 2000, tailMs: 2000 };
  return withOverruns(underlay.names, (event) => runLoad({ server, sources, pings, ...times }, event));
}
