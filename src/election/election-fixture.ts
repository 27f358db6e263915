// A small fleet with routers and hosts that have ports, for tests of this module; and a control plane on it, with the real controller and hosts
// that converge on their views or not.
import { alarmsModel } from '../alarms/index.ts';
import { idOf, put, remove, SETTING, type Change, type FleetReader, type Model } from '../fleet/index.ts';
import { CURRENT_SERVICE_VERSION, HOST, hostsModel, type Host } from '../hosts/index.ts';
import { TestWorld, TICKS_MAX, type StartedServer } from '../hosts/world-fixture.ts';
import { networkModel, PORT, ROUTER, TRANSPORT_ZONE, type Port, type Router, type Subnet } from '../network/index.ts';
import { host, network, port, subnet } from '../network/network-fixture.ts';
import {
  isOpen,
  ITEM,
  OPERATION,
  type Driver,
  type Item,
  type Operation,
  type OperationId,
} from '../operations/index.ts';
import { OperationsController } from '../operations/runtime.ts';
import { SITE, sitesModel } from '../sites/index.ts';
import { ElectionController } from './controller.ts';
import { electionModel } from './election-model.ts';
import { handoverKind } from './handover/operation.ts';
import { findSteadyStateProblems } from './invariants.ts';
import { SERVICE, type Service } from './model.ts';
import { editService, type EditService } from './move.ts';
import { ELECTION } from './settings.ts';

const CHANGED = { changedBy: 'test', changedAtMs: 0 };

/** Ports are bound here without instances: the network's own rules are not under test. */
export const MODELS: readonly Model[] = [
  { kinds: [SETTING] },
  alarmsModel,
  sitesModel,
  hostsModel,
  { ...networkModel, invariants: [] },
  electionModel,
];

/** A host that is a candidate for every service. */
export function fitHost(name: string, facts: Partial<Host> = {}): Change {
  const { doc } = host(name);
  let digits = 7;
  for (let at = 0; at < name.length; at += 1) digits = (digits * 31 + name.charCodeAt(at)) % 2 ** 40;
  const fit: Host = {
    ...(doc as Host),
    serviceVersion: CURRENT_SERVICE_VERSION,
    switch: { datapathId: digits.toString(16).padStart(16, '0') },
    tunnelAddress: `10.200.${Math.floor(digits / 250) % 250}.${1 + (digits % 250)}`,
    ...facts,
  };
  return put(HOST, idOf(HOST, name), fit);
}

/** The base documents: a site, the default zone, an internal network and an external one. */
function ground(): Change[] {
  return [
    put(SITE, idOf(SITE, 'central'), { name: 'central', ...CHANGED }),
    put(TRANSPORT_ZONE, idOf(TRANSPORT_ZONE, 'default'), { name: 'default', mesh: 'full', ...CHANGED }),
    network('inside'),
    network('outside', { external: true }),
  ];
}

/** A router with an external network, with its subnets. */
export function routed(name: string, subnets: readonly string[], facts: Partial<Router> = {}): Change[] {
  const doc: Router = {
    name,
    project: 'default',
    subnets: [...subnets],
    externalNetwork: 'outside',
    ...CHANGED,
    ...facts,
  };
  return [...subnets.map((one) => plainSubnet(one)), put(ROUTER, idOf(ROUTER, name), doc)];
}

export function plainSubnet(name: string, facts: Partial<Subnet> = {}): Change {
  return subnet(name, 'inside', '10.0.0.0/16', facts);
}

/** A port in a subnet, bound to a host. */
export function portOn(hostName: string, inSubnet: string, id = `${hostName}-${inSubnet}`): Change {
  const { doc } = port(id, 'inside');
  const bound: Port = {
    ...(doc as Port),
    addresses: [{ ip: '10.0.0.9', subnet: inSubnet, chosenBy: 'bind' }],
    binding: { host: hostName, serial: 1, type: 'ovs' },
    serial: 1,
  };
  return put(PORT, idOf(PORT, id), bound);
}

export function service(fleet: FleetReader, id: string): Service | undefined {
  return fleet.get(SERVICE, idOf(SERVICE, id))?.doc;
}

/** Documents that elections have not seen yet. */
export function fleetOf(...changes: readonly (Change | readonly Change[])[]): Change[] {
  return [...ground(), ...changes.flat()];
}

/** Leaving, by a scale-in. */
export const LEAVING = {
  state: 'draining',
  leaving: { operation: 'op-scale-in', drain: true, by: 'ann', atMs: 0 },
} as const satisfies Partial<Host>;

/** Its agent reports that its switch is out of control. */
export function outOfControl(
  sinceMs: number,
  facts: Partial<NonNullable<Host['degraded']>[number]> = {},
): Partial<Host> {
  return { degraded: [{ type: 'switch', code: 'unreachable', message: 'no answer', sinceMs, ...facts }] };
}

/** Hosts that converge on their views, except the listed ones. */
export class FakeViewsDriver implements Driver {
  /** Hosts whose BFD most of their peers report down. */
  readonly bfdDownByMajority = new Set<string>();
  /** Connected, and not converged. */
  readonly behind = new Set<string>();
  /** Services that a host cannot provide, and why: by `host service`. */
  readonly unready = new Map<string, string>();
  /** The views that were waited for: `prepare X`, `switch X Y`. */
  readonly log: string[] = [];

  carryOut(...[{ step, args }]: Parameters<Driver['carryOut']>): ReturnType<Driver['carryOut']> {
    const hosts = args['hosts'] as readonly string[];
    const late = hosts.filter((one) => this.behind.has(one));
    if (late.length > 0) {
      return Promise.resolve({ kind: 'failed', reason: { code: 'hosts-behind', hosts: late } });
    }
    const wanted = String(args['service']);
    const [target, others] = [String(args['target']), (args['others'] ?? []) as readonly string[]];
    const alternative = this.bfdDownByMajority.has(target)
      ? others.find((one) => !this.bfdDownByMajority.has(one))
      : undefined;
    if (alternative !== undefined) {
      const reason = { code: 'target-bfd-down', service: wanted, host: target, alternative };
      return Promise.resolve({ kind: 'failed', reason });
    }
    for (const name of step === 'prepare' ? hosts : []) {
      const because = this.unready.get(`${name} ${wanted}`);
      if (because === undefined) continue;
      const reason = { code: 'service-not-ready', service: wanted, host: name, because, hosts: [name] };
      return Promise.resolve({ kind: 'failed', reason });
    }
    this.log.push(`${step} ${hosts.join(' ')}`);
    return Promise.resolve({ kind: 'applied' });
  }
}

export class ElectionWorld extends TestWorld {
  readonly views = new FakeViewsDriver();
  /** Hosts whose BFD is up. */
  readonly bfdUp = new Set<string>();
  /** Hosts whose BFD most of their peers report down. */
  readonly bfdDownByMajority = this.views.bfdDownByMajority;
  /** Hosts whose BFD some peer reports down and none up. */
  readonly bfdDownUnanimously = new Set<string>();
  /** The hosts whose peers were queried. */
  readonly requests: string[] = [];
  /** Sites whose hosts are silent together. */
  readonly possiblyPartitioned = new Set<string>();
  #election: ElectionController | undefined;

  static async of(...changes: readonly (Change | readonly Change[])[]): Promise<ElectionWorld> {
    const world = new ElectionWorld(MODELS);
    await world.restart();
    await world.put(...fleetOf(...changes));
    return world;
  }

  protected override get tickMs(): number {
    return 1000;
  }

  protected override begin({ journal, clock, ids, log }: StartedServer): OperationsController {
    const kinds = new Map([[handoverKind.name, handoverKind]]);
    const drivers = new Map<string, Driver>([['views', this.views]]);
    const hasBfdUp = (one: string): boolean => {
      this.requests.push(one);
      return this.bfdUp.has(one);
    };
    const isBfdDownByMajority = (one: string): boolean => this.bfdDownByMajority.has(one);
    const maybePartitioned = (site: string): boolean => this.possiblyPartitioned.has(site);
    const isBfdDownUnanimously = (one: string): boolean => this.bfdDownUnanimously.has(one);
    const detector = { hasBfdUp, isBfdDownByMajority, maybePartitioned, isBfdDownUnanimously };
    const election = new ElectionController({ journal, clock, ids, log, ...detector });
    journal.onCommit(({ applied }) => election.wake(applied));
    this.#election = election;
    return new OperationsController({ journal, clock, kinds, drivers, log, scanMs: 1 });
  }

  /** The caller, for commands that start something. */
  commandContext(): { operation: OperationId; by: string; nowMs: number; deadlineMs: number } {
    return { operation: this.operation(), by: 'ann', nowMs: this.nowMs, deadlineMs: 3_600_000 };
  }

  /** The operator's settings of a service. */
  async say(id: string, edit: EditService['edit']): Promise<void> {
    await this.commit((fleet) => editService(fleet, { id, edit, by: 'ann', nowMs: this.nowMs }));
  }

  silent(name: string, state: 'suspect' | 'down' = 'suspect'): Promise<void> {
    return this.connect(name, state);
  }

  back(name: string): Promise<void> {
    return this.connect(name, 'up');
  }

  active(name: string): Promise<void> {
    return this.change(name, ({ leaving: _, ...doc }) => ({ ...doc, state: 'active' }));
  }

  async unplug(...ids: readonly string[]): Promise<void> {
    await this.put(...ids.map((id) => remove(PORT, idOf(PORT, id))));
  }

  async setting(value: Partial<(typeof ELECTION)['defaultValue']>): Promise<void> {
    await this.put(put(SETTING, ELECTION.name, { value: { ...ELECTION.defaultValue, ...value }, ...CHANGED }));
  }

  /** Most BFD peers of a host report it down. */
  async loseBfd(name: string): Promise<void> {
    this.bfdDownByMajority.add(name);
    this.#election?.wakeForHost(name);
    await this.reconcile();
  }

  /** One pass of the controller. */
  reconcile(): Promise<void> {
    return this.#election?.reconcile() ?? Promise.resolve();
  }

  /** Until nothing more happens for longer than any pause. */
  override async settle(): Promise<void> {
    for (let tick = 0, quiet = 0; tick < TICKS_MAX; tick += 1) {
      const before = this.fleet.revision;
      await this.reconcile();
      await this.pass();
      quiet = this.fleet.revision === before ? quiet + 1 : 0;
      if (quiet === 12) return;
    }
    throw new Error(`it does not settle: ${this.shown()} ${JSON.stringify(this.open())}`);
  }

  /** Until a service is in a phase of its handover. */
  async until(id: string, phase: string): Promise<void> {
    for (let tick = 0; tick < TICKS_MAX; tick += 1) {
      if (service(this.fleet, id)?.handover?.phase === phase) return;
      await this.pass();
    }
    throw new Error(`${id} is never ${phase}: ${this.shown()}`);
  }

  /** Every service and its designated host: `nat:r1 A, dhcp:s1 -`. */
  shown(): string {
    return [...this.fleet.all(SERVICE)]
      .map(({ id, doc: { designated, handover: passing } }) => {
        const flag = designated?.degraded === true ? '!' : '';
        const to = passing === undefined ? '' : ` (${passing.from} to ${passing.to}, ${passing.phase})`;
        return `${id} ${designated?.host ?? '-'}${flag}${to}`;
      })
      .join(', ');
  }

  operations(): Operation[] {
    return [...this.fleet.all(OPERATION)].map(({ doc }) => doc);
  }

  items(): Item[] {
    return [...this.fleet.all(ITEM)].map(({ doc }) => doc);
  }

  override open(): string[] {
    return this.items()
      .filter((doc) => isOpen(doc))
      .map((doc) => `${doc.target.id} ${doc.step} ${doc.state} ${doc.reason?.code ?? ''}`.trim());
  }

  wrong(): string[] {
    return [...this.violations, ...findSteadyStateProblems(this.fleet)];
  }
}

/** These hosts all have a port behind router `r1`, and everything is elected. */
export async function servedBy(...names: readonly string[]): Promise<ElectionWorld> {
  const world = await ElectionWorld.of(
    names.map((name) => fitHost(name)),
    routed('r1', ['s1']),
    names.map((name) => portOn(name, 's1')),
  );
  await world.settle();
  return world;
}

/** A router of a subnet that a and x have; a is its better host, and x the only other candidate. */
export async function openWithOneCandidate(): Promise<ElectionWorld> {
  const world = await ElectionWorld.of(
    fitHost('a'),
    fitHost('x', { baseWeight: -9 }),
    routed('r1', ['s1']),
    portOn('a', 's1'),
    portOn('x', 's1'),
  );
  await world.settle();
  return world;
}
