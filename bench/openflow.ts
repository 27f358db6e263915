// Flows onto a real Open vSwitch: our client beside the switch's own tool, in turns on the same daemon, and what one change takes on
// a connection that is already there.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { portNamesOf } from '../src/dataplane/ovs/openflow/ports.ts';
import { OpenFlowClient } from '../src/dataplane/ovs/openflow/client-driver.ts';
import type { Flow } from '../src/dataplane/switch/switch.ts';
import { realClock } from '../src/main/clock.ts';
import { ensureOvs } from '../test/ovs/install.ts';
import { start, type OvsDaemons } from '../test/ovs/ovs-daemons.ts';
import { atLeast, below, noGoal, type Benchmark, type Figure } from './benchmark.ts';
import { runPaired, median } from './rounds.ts';
import type { BenchScope } from './scope.ts';

const BRIDGE = 'br-int';
const TUNNEL = { name: 'tun', number: 100 };
const PEERS = 200;
const NETWORKS = 50;
const ROUNDS = 3;
const CHANGES = 500;
const CHANGE_LIMIT_MS = 2;

const hex = (value: number): string => value.toString(16).padStart(2, '0');

/** A port of some network at some peer: each flow has a match of its own, and does what the others of its peer do. */
function flowTo(nth: number): Flow {
  const network = `0x${((nth % NETWORKS) + 1).toString(16)}`;
  const mac = `02:00:00:${hex(nth >> 16)}:${hex((nth >> 8) & 255)}:${hex(nth & 255)}`;
  const peer = `set_field:172.16.0.${(nth % PEERS) + 1}->tun_dst,set_field:${network}->tun_id`;
  return {
    table: 20,
    priority: 100,
    match: `metadata=${network},dl_dst=${mac}`,
    actions: `${peer},load:0->NXM_OF_IN_PORT[],output:"${TUNNEL.name}"`,
    cookie: '4d55000000000001',
  };
}

interface OpenFlowSetup {
  readonly ovs: OvsDaemons;
  readonly client: OpenFlowClient;
  readonly folder: string;
}

async function startSetup(scope: BenchScope): Promise<OpenFlowSetup> {
  const ovs = await start();
  scope.onClose(() => ovs.close());
  await ovs.addBridge(BRIDGE);
  await ovs.addDummyPort(BRIDGE, TUNNEL.name, TUNNEL.number);
  const client = new OpenFlowClient({
    address: ovs.bridgeMgmt(BRIDGE),
    clock: realClock,
    random: Math.random,
    names: portNamesOf([TUNNEL]),
  });
  scope.onClose(() => client.close());
  await client.barrier();
  return { ovs, client, folder: await scope.tempDir() };
}

/** Flows a second of a switch that has none before. */
async function rateOf({ ovs }: OpenFlowSetup, count: number, put: () => Promise<unknown>): Promise<number> {
  await ovs.ofctl('del-flows', BRIDGE);
  const began = performance.now();
  await put();
  return (count / (performance.now() - began)) * 1000;
}

async function bundles(scope: BenchScope, all: OpenFlowSetup, count: number): Promise<Figure> {
  const { ovs, client, folder } = all;
  const flows = Array.from({ length: count }, (_, nth) => flowTo(nth));
  const mods = flows.map((flow) => ({ kind: 'put-flow', flow }) as const);
  const file = join(folder, `flows-${count}`);
  await writeFile(file, flows.map(line).join('\n'));
  const { ours, peers, ratio } = await runPaired(scope, ROUNDS, async () => [
    await rateOf(all, count, () => client.bundle(mods)),
    await rateOf(all, count, () => ovs.ofctl('--bundle', 'add-flows', BRIDGE, file)),
  ]);
  const peer = `ovs-ofctl --bundle: ${Math.round(peers)} flows/s`;
  return { name: `openflow-bundle-${count}`, value: ours, unit: 'flows/s', peer, ...atLeast(0.7, ratio) };
}

const line = ({ table, priority, match, actions, cookie }: Flow): string =>
  `cookie=0x${cookie},table=${table},priority=${priority},${match},actions=${actions}`;

async function dump({ client }: OpenFlowSetup, count: number): Promise<Figure> {
  const times: number[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    const began = performance.now();
    const flows = await client.flows();
    if (flows.length !== count) throw new Error(`${flows.length} flows are read, not ${count}`);
    if (round > 0) times.push(performance.now() - began);
  }
  const rate = (count / median(times)) * 1000;
  return { name: `openflow-dump-${count}`, value: rate, unit: 'flows/s', peer: 'none', ...noGoal(1) };
}

async function singleChange(scope: BenchScope, { ovs, client }: OpenFlowSetup): Promise<Figure> {
  await ovs.ofctl('del-flows', BRIDGE);
  const times: number[] = [];
  for (let nth = 0; nth < CHANGES; nth += 1) {
    scope.check();
    const began = performance.now();
    await client.bundle([{ kind: 'put-flow', flow: flowTo(nth) }]);
    times.push(performance.now() - began);
  }
  const p50 = median(times);
  const peer = `limit: ${CHANGE_LIMIT_MS} ms`;
  return { name: 'openflow-change-p50', value: p50, unit: 'ms', peer, ...below(1, p50 / CHANGE_LIMIT_MS) };
}

export const openFlowBenchmark: Benchmark = {
  name: 'openflow',
  about: '10^4 and 10^5 flows in one bundle beside ovs-ofctl, reading them back, and one change',
  seconds: 50,
  run: async (scope) => {
    const found = await ensureOvs();
    if (found.kind === 'missing') return { skipped: `Open vSwitch is missing: ${found.reason}` };
    const all = await startSetup(scope);
    return [
      await bundles(scope, all, 10_000),
      await bundles(scope, all, 100_000),
      await dump(all, 100_000),
      await singleChange(scope, all),
    ];
  },
};
