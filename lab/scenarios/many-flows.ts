// A hundred thousand flows are put on the switch of the designated host, in one bundle, while packets go through it: nothing is lost.
import { OpenFlowClient } from '../../src/dataplane/ovs/openflow/client-driver.ts';
import { portNamesOf } from '../../src/dataplane/ovs/openflow/ports.ts';
import type { Mod } from '../../src/dataplane/ovs/openflow/mods.ts';
import { realClock } from '../../src/main/clock.ts';
import { runTrial } from '../trial.ts';
import type { LabHost } from '../underlay/host.ts';
import { LabFleet } from './fleet.ts';
import type { LabScenario } from './scenario.ts';

const HOSTS = 3;
const FLOWS = 100_000;
/** Nothing of Muster's is in it: these flows are another program's. */
const TABLE = 200;
const GAP_MS = 250;

function changes(): Mod[] {
  return Array.from({ length: FLOWS }, (_, nth) => ({
    kind: 'put-flow',
    flow: {
      table: TABLE,
      priority: 1,
      match: `metadata=0x${(nth + 1).toString(16)}`,
      actions: 'drop',
      cookie: '0000000000000007',
    },
  }));
}

async function put({ names: { folder } }: LabHost): Promise<number> {
  const address = `unix:${folder}/br-int.mgmt`;
  const client = new OpenFlowClient({ address, clock: realClock, random: Math.random, names: portNamesOf([]) });
  try {
    await client.barrier();
    const all = changes();
    const began = performance.now();
    await client.bundle(all);
    return performance.now() - began;
  } finally {
    await client.close();
  }
}

export const manyFlows: LabScenario = {
  name: 'a-hundred-thousand-flows',
  about: `${FLOWS} flows come onto the switch of the designated host in one bundle`,
  async run({ say, signal }) {
    const fleet = await LabFleet.start(HOSTS, say, signal);
    try {
      const host = fleet.underlay.host(await fleet.designated('nat:edge'));
      let ms = NaN;
      const event = async (): Promise<void> => {
        ms = await put(host);
      };
      const outcome = await runTrial({ load: await fleet.load(), event, limits: { tcpGapMs: GAP_MS } });
      return outcome.kind === 'machine-too-busy'
        ? outcome
        : { ...outcome, figures: [`${FLOWS} flows in ${Math.round(ms)} ms`] };
    } finally {
      await fleet.close();
    }
  },
};
