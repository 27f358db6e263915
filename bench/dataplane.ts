// What it takes to say what should be on one host's switch: its view composed, compiled and held against what is there, in a fleet
// of a thousand hosts. And how far one change goes: for a host that is not affected nothing is composed.
import { findAffectedHosts, composeView } from '../src/agent/server/compose-view.ts';
import { compile, readDataplaneView, diff, EMPTY_COMPILE_RESULT } from '../src/dataplane/index.ts';
import { portName } from '../src/dataplane/switch/derived-ids.ts';
import type { SwitchContents } from '../src/dataplane/switch/switch.ts';
import { EXTERNAL_PORT, TUNNEL_PORT } from '../src/dataplane/switch/tables.ts';
import { put, type Fleet } from '../src/fleet/index.ts';
import { VIEW_PARTS } from '../src/hosts/index.ts';
import { PROGRAM } from '../src/main/modules.ts';
import { PORT, PORTS_BY_HOST, ROUTER, unbindPort } from '../src/network/index.ts';
import { allocateMissingTunnelKeys } from '../src/network/tunnels/keys.ts';
import { below, noGoal, type Benchmark, type Figure } from './benchmark.ts';
import { quantile } from './rounds.ts';
import { sampleHostId } from './sample-hosts.ts';
import { loadedScaleInFleet } from './scale-in-fleet.ts';
import type { BenchScope } from './scope.ts';

const HOSTS = 1000;
const INSTANCES = 10_000;
const SERVICES = 500;
const LIMIT_MS = 50;
/** Hosts that are looked at, one after the other. */
const LOOKED_AT = 200;
const WARMING = 20;
const PARTS = PROGRAM.all(VIEW_PARTS);
const SOURCE = { parts: PARTS, kinds: PROGRAM.operationKinds };
const STAMP = { journalId: 'bench', leaseEpoch: 1 };
const BY = { by: 'bench', nowMs: 0 };

/** Every network and router with its number, every router with an address outside. */
function fleetWithTunnelKeys(): Fleet {
  const fleet = loadedScaleInFleet({ hosts: HOSTS, instances: INSTANCES, services: SERVICES, presence: 'few' });
  for (
    let changes = allocateMissingTunnelKeys(fleet, 1000);
    changes.length > 0;
    changes = allocateMissingTunnelKeys(fleet, 1000)
  ) {
    fleet.apply(fleet.revision + 1, changes);
  }
  const routers = [...fleet.all(ROUTER)].map(({ id, doc }, nth) =>
    put(ROUTER, id, { ...doc, nat: { port: `nat-${nth}`, ip: `203.0.${nth >> 8}.${nth & 255}` } }),
  );
  fleet.apply(fleet.revision + 1, routers);
  return fleet;
}

function compileHostSwitch(fleet: Fleet, host: string): SwitchContents {
  const view = readDataplaneView(host, composeView(fleet, SOURCE, host, STAMP).parts);
  if (view === undefined) throw new Error(`${host} is shown nothing`);
  return compile(view).contents;
}

/** A switch with nothing of ours, and with all ports plugged in that are to be there. */
function bare(fleet: Fleet, host: string): SwitchContents & { readonly ports: readonly string[] } {
  const ports = [...fleet.find(PORTS_BY_HOST, host)].map(({ id }) => portName(id));
  return { ...EMPTY_COMPILE_RESULT.contents, ports: [...ports, TUNNEL_PORT, EXTERNAL_PORT] };
}

async function measureCompile(scope: BenchScope): Promise<Figure[]> {
  const fleet = fleetWithTunnelKeys();
  const [whole, again, flows]: [number[], number[], number[]] = [[], [], []];
  for (let nth = 0; nth < LOOKED_AT + WARMING; nth += 1) {
    scope.check();
    const host = sampleHostId((nth * 7) % HOSTS);
    const empty = bare(fleet, host);
    const began = performance.now();
    const wanted = compileHostSwitch(fleet, host);
    const { changes } = diff(wanted, empty);
    const done = performance.now();
    const same = diff(compileHostSwitch(fleet, host), { ...wanted, ports: empty.ports });
    const over = performance.now();
    if (changes.length < wanted.flows.length) throw new Error(`${host}: ${changes.length} changes for so many flows`);
    if (same.changes.length > 0) throw new Error(`${host}: a second look changes ${JSON.stringify(same.changes[0])}`);
    if (nth < WARMING) continue;
    whole.push(done - began);
    again.push(over - done);
    flows.push(wanted.flows.length);
    await Promise.resolve();
  }
  const limit = `limit: ${LIMIT_MS} ms, a host with ${quantile(flows, 0.5)} flows of a fleet of ${HOSTS} hosts`;
  return [
    timeFigure('dataplane-compile-p50', quantile(whole, 0.5), limit),
    timeFigure('dataplane-compile-p99', quantile(whole, 0.99), limit),
    timeFigure('dataplane-look-again-p99', quantile(again, 0.99), limit),
    ...measureFanOut(fleet),
  ];
}

function timeFigure(name: string, ms: number, peer: string): Figure {
  return { name, value: ms, unit: 'ms', peer, ...below(1, ms / LIMIT_MS) };
}

/** A port goes: how many hosts compose anew, and what it takes to know which. */
function measureFanOut(fleet: Fleet): Figure[] {
  const [otherMs, us]: [number[], number[]] = [[], []];
  for (let nth = 0; nth < LOOKED_AT; nth += 1) {
    const [port] = fleet.find(PORTS_BY_HOST, sampleHostId((nth * 7) % HOSTS));
    if (port === undefined) continue;
    const applied = fleet.apply(fleet.revision + 1, [put(PORT, port.id, unbindPort(port.doc, BY))]);
    const began = performance.now();
    const hosts = new Set(applied.flatMap((change) => [...findAffectedHosts(fleet, PARTS, change)]));
    us.push((performance.now() - began) * 1000);
    otherMs.push(hosts.size);
  }
  const hosts = quantile(otherMs, 0.5);
  return [
    {
      name: 'dataplane-change-reaches',
      value: hosts,
      unit: 'hosts',
      peer: `all of them: ${HOSTS} hosts`,
      ...below(0.1, hosts / HOSTS),
    },
    { name: 'dataplane-change-known', value: quantile(us, 0.5), unit: 'us', peer: 'to know which', ...noGoal(1) },
  ];
}

export const dataplaneBenchmark: Benchmark = {
  name: 'dataplane',
  about: `view, compilation and difference of one host of ${HOSTS}, with ${INSTANCES} instances and ${SERVICES} routers`,
  seconds: 10,
  run: measureCompile,
};
