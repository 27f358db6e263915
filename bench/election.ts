// Re-election when a host is lost: 5,000 services over 10^4 hosts, of the busiest host and of one that has them all. The decision
// alone, in the slices in which the controller commits it, each on what the slices before have staged.
import { reconcileServices, SERVICE, serviceId, SERVICES_TOUCHING_HOST, type Service } from '../src/election/index.ts';
import { Fleet, idOf, Stage, type AnyDoc, type Id } from '../src/fleet/index.ts';
import { HOST, type Host } from '../src/hosts/index.ts';
import { PROGRAM } from '../src/main/modules.ts';
import { DEFAULT_PROJECT, NETWORK, PORT, ROUTER, SUBNET, TRANSPORT_ZONE } from '../src/network/index.ts';
import { OPERATION } from '../src/operations/index.ts';
import { below, noGoal, type Benchmark, type Figure } from './benchmark.ts';
import { median } from './rounds.ts';
import { sampleHost, sampleHostId } from './sample-hosts.ts';
import { seeded } from './scheduler-fleet.ts';
import type { BenchScope } from './scope.ts';

const HOSTS = 10_000;
/** Each has two services: its router's address translation and the route to its subnet. */
const ROUTERS = 2_500;
/** Hosts with a port in each subnet. */
const PRESENCE = 20;
/** The busiest host is in so many subnets, and takes so many services before another takes its first. */
const BUSY_SUBNETS = 500;
const BUSY_WEIGHT = 500;
const LIMIT_MS = 100;
const ROUNDS = 7;
const SLICE = 500;
const CHANGED = { changedBy: 'bench', changedAtMs: 1 };
const LOST = sampleHostId(0);

type Load = (kind: { readonly name: string }, id: string, doc: AnyDoc) => void;

function fleetOf(fill: (load: Load) => void): Fleet {
  const fleet = new Fleet(PROGRAM.newRegistry());
  fill(({ name }, id, doc) => fleet.load(name, { id: id as Id<string>, revision: 1, doc }));
  fleet.finishLoad(1);
  return fleet;
}

/** All hosts, and routers whose subnets are each on some of them; the first host is in the first subnets. */
function buildTopology(
  load: Load,
  { inSubnets, baseWeight }: { readonly inSubnets: number; readonly baseWeight: number },
): void {
  const random = seeded(4);
  let ports = 0;
  for (let nth = 0; nth < HOSTS; nth += 1) {
    const host: Host = {
      ...sampleHost(nth),
      serviceVersion: 4,
      switch: { datapathId: (nth + 1).toString(16).padStart(16, '0') },
      baseWeight: nth === 0 ? baseWeight : 0,
    };
    load(HOST, sampleHostId(nth), host);
  }
  load(TRANSPORT_ZONE, 'default', { name: 'default', mesh: 'needed', ...CHANGED });
  const network = { project: DEFAULT_PROJECT, backEnd: 'embedded', shared: true, portSecurity: false, ...CHANGED };
  load(NETWORK, 'inside', { name: 'inside', external: false, ...network });
  load(NETWORK, 'outside', { name: 'outside', external: true, ...network });
  for (let nth = 0; nth < ROUTERS; nth += 1) {
    const [router, subnet] = [`router-${nth}`, `subnet-${nth}`];
    const [cidr, gateway] = ['10.0.0.0/8', '10.0.0.1'];
    load(SUBNET, subnet, { name: subnet, network: 'inside', cidr, version: 4, gateway, pools: [], ...CHANGED });
    const doc = { name: router, project: DEFAULT_PROJECT, subnets: [subnet], externalNetwork: 'outside', ...CHANGED };
    load(ROUTER, router, doc);
    const hosts = new Set(nth < inSubnets ? [0] : []);
    while (hosts.size < PRESENCE) hosts.add(1 + Math.floor(random() * (HOSTS - 1)));
    for (const host of hosts) boundPort(load, { subnet, host, nth: (ports += 1) });
  }
}

const macOf = (nth: number): string => `52:00${nth.toString(16).padStart(8, '0').replaceAll(/../g, ':$&')}`;

function boundPort(load: Load, at: { readonly subnet: string; readonly host: number; readonly nth: number }): void {
  const { subnet, host, nth } = at;
  const ip = `10.${nth >> 16}.${(nth >> 8) & 255}.${nth & 255}`;
  const id = `${subnet}-${host}`;
  load(PORT, id, {
    network: 'inside',
    project: DEFAULT_PROJECT,
    createdBy: 'muster',
    state: 'made',
    mac: macOf(nth),
    ipAllocation: 'deferred',
    addresses: [{ ip, subnet, chosenBy: 'bind' }],
    binding: { host: sampleHostId(host), serial: 1, type: 'ovs' },
    serial: 1,
    portSecurity: false,
    securityGroups: [],
    ...CHANGED,
  });
}

const services = Array.from({ length: ROUTERS }, (_, nth) => [
  serviceId('nat', `router-${nth}`),
  serviceId('subnet-route', `subnet-${nth}`),
]).flat();

const COMMAND = {
  hasBfdUp: () => false,
  isBfdDownByMajority: () => false,
  maybePartitioned: () => false,
  by: 'bench',
  nowMs: 2,
  deadlineMs: 1000,
};

/** Decides in slices, as the controller commits them. */
function decide(
  stage: Stage,
  ids: readonly (typeof services)[number][],
): { readonly ms: number; readonly elected: number } {
  let [ms, elected] = [0, 0];
  const sorted = [...ids].sort();
  for (let at = 0; at < sorted.length; at += SLICE) {
    const slice = sorted.slice(at, at + SLICE);
    const began = performance.now();
    const decision = reconcileServices(stage, { ...COMMAND, services: slice, operation: idOf(OPERATION, `op-${at}`) });
    ms += performance.now() - began;
    if (decision.kind === 'refuse') throw new Error(decision.refusal.message);
    stage.add(decision.changes);
    elected += decision.answer.elected.length;
  }
  return { ms, elected };
}

/** Elected by the balanced choice: one host is in many subnets and its base weight draws many of their services. */
function fleetWithBusyHost(): Fleet {
  const fleet = fleetOf((load) => buildTopology(load, { inSubnets: BUSY_SUBNETS, baseWeight: BUSY_WEIGHT }));
  const stage = new Stage(fleet);
  decide(stage, services);
  stage.promote();
  return fleet;
}

/** Every service is done by the first host. */
function fleetOnOneHost(): Fleet {
  return fleetOf((load) => {
    buildTopology(load, { inSubnets: ROUTERS, baseWeight: 0 });
    for (const id of services) {
      const [type, subject] = id.split(':') as [Service['type'], string];
      const doc: Service = {
        type,
        subject,
        exclusion: 'soft',
        onControlLoss: 'move',
        epoch: 1,
        designated: { host: LOST, sinceMs: 1 },
        ...CHANGED,
      };
      load(SERVICE, id, doc);
    }
  });
}

function lose(scope: BenchScope, fleet: Fleet): { readonly ms: number; readonly lost: number } {
  const lost = [...fleet.find(SERVICES_TOUCHING_HOST, LOST)].map(({ id }) => id);
  const took: number[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    scope.check();
    const stage = new Stage(fleet);
    const doc = fleet.get(HOST, LOST)?.doc as Host;
    stage.add([{ kind: HOST.name, id: LOST, doc: { ...doc, connection: { state: 'suspect', sinceMs: 2 } } }]);
    const { ms, elected } = decide(stage, lost);
    if (elected !== lost.length) throw new Error(`${elected} of ${lost.length} were elected`);
    stage.rollback();
    if (round > 0) took.push(ms); // the first one warms up
  }
  return { ms: median(took), lost: lost.length };
}

function figureOf(name: string, { ms, lost }: { readonly ms: number; readonly lost: number }): Figure[] {
  return [
    { name: `election-${name}`, value: ms, unit: 'ms', peer: `limit: ${LIMIT_MS} ms`, ...below(1, ms / LIMIT_MS) },
    { name: `election-${name}-services`, value: lost, unit: 'services', peer: 'of 5000', ...noGoal(lost / 5000) },
  ];
}

export const electionBenchmark: Benchmark = {
  name: 'election',
  about: `re-election of ${2 * ROUTERS} services over ${HOSTS} hosts (busiest host, and worst case all on one)`,
  seconds: 15,
  run: async (scope) => {
    const busy = figureOf('busiest-host', lose(scope, fleetWithBusyHost()));
    await Promise.resolve();
    return [...busy, ...figureOf('all-on-one', lose(scope, fleetOnOneHost()))];
  },
};
