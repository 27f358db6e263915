// A simulated network back end (it ships with the product, for tests and trials): ports and addresses in memory, faults that can be armed, events
// that can be switched off, and a log of calls. The same orders on the same clock get the same answers. Its state outlives a server that
// crashes beside it, as a real back end's would.
import type { Stored } from '../../../fleet/index.ts';
import type { Clock } from '../../../journal/index.ts';
import {
  NetworkUnavailable,
  type BackEndFence,
  type BindOrder,
  type PortToBind,
  type OrderResult,
  type CreateOrder,
  type PortToCreate,
  type DeleteBindingOrder,
  type ReleaseOrder,
  type PortToRelease,
  type HostNetwork,
  type NetworkBackEnd,
  type InactiveBinding,
  type OrderPool,
  type PortOutcome,
} from '../back-end.ts';
import type { NetworkEventReport } from '../../ports/event.ts';
import type { Port } from '../../model.ts';
import type { PoolKey } from '../../ports/nic-requirements.ts';
import { SimulatedCallLog, type SimulatedCall } from './calls.ts';
import { SimulatedFaults, type ArmedFault, type OrderFaultOutcome } from './faults.ts';
import { createHostNetwork } from './host-network.ts';
import { BINDING_FAILED, SimulatedPorts, type BindDestination, type OrderEffect } from './ports.ts';
import { joinResults, answerLost, REPLIES, toPortResult, type PortResult } from './replies.ts';

export interface SimulatedNetworkOptions {
  readonly clock: Clock;
  /** The receiver of its events. */
  readonly emit?: (news: NetworkEventReport) => void;
  /** The subnets of a pool, for hosts that allocate by themselves. */
  readonly poolsOf?: (pool: PoolKey) => readonly OrderPool[];
}

/** The caller, and until when it may act. A host has no lease, and stops no call. */
export interface OrderOrigin {
  readonly by: SimulatedCall['by'];
  readonly leaseEpoch?: number;
  readonly deadlineAtMs: number;
  readonly signal?: AbortSignal;
}

interface PortCall {
  readonly op: 'bind' | 'activate' | 'unbind' | 'delete';
  readonly instance: string;
  readonly port: string;
  readonly serial: number;
  readonly nic: number;
  readonly host?: string | undefined;
  readonly segment?: string | undefined;
}

const CONNECTED = 'simulated';

export class SimulatedNetwork implements NetworkBackEnd {
  readonly name = 'simulated';
  readonly faults = new SimulatedFaults();
  readonly calls = new SimulatedCallLog();
  readonly hostNetwork: HostNetwork;
  /** Whether it reports when a port is connected. */
  eventsEnabled = true;
  readonly #clock: Clock;
  readonly #ports = new SimulatedPorts();
  readonly #emit: (news: NetworkEventReport) => void;
  #leaseEpoch = 0;

  constructor({ clock, emit, poolsOf }: SimulatedNetworkOptions) {
    this.#clock = clock;
    this.#emit = emit ?? (() => undefined);
    this.hostNetwork = createHostNetwork({ network: this, clock, poolsOf: poolsOf ?? (() => []) });
  }

  /** A stranger takes an address at the back end; false when it is taken. */
  addForeign(subnet: string, ip: string): boolean {
    return this.#ports.addresses.addForeign(subnet, ip);
  }

  /**
   * Adopts the journal's state of all its ports, after a start and when another server becomes leader: its own state is in memory, and may be
   * outdated in this process.
   */
  adopt(ports: Iterable<Stored<'port', Port>>): void {
    this.#ports.adopt(ports);
  }

  /** Learns of a port that another client created; a known port stays as it is. */
  learnPort(port: PortToCreate, instance: string): void {
    if (this.#ports.get(port.port) === undefined) this.#ports.create(port, instance);
  }

  /** A host loses a port that it had connected; the back end reports that. False when it is bound nowhere. */
  unplug(port: string): boolean {
    const bound = this.#ports.get(port);
    if (bound?.binding === undefined || bound.instance === undefined) return false;
    this.#emit({ port, name: 'unplugged', serial: bound.binding.serial, instance: bound.instance });
    return true;
  }

  /** Its state of a port. */
  port(port: string): ReturnType<SimulatedPorts['get']> {
    return this.#ports.get(port);
  }

  /** All its ports, sorted by id. */
  ports(): ReturnType<SimulatedPorts['entries']> {
    return this.#ports.entries();
  }

  /** The ports that hold addresses. */
  addressOwners(): Iterable<string> {
    return this.#ports.addresses.owners();
  }

  /** The fault that applies to the start of an instance on a host, for simulated instance runtimes. */
  spawnFault(host: string): ArmedFault | undefined {
    return this.faults.trigger({ op: 'spawn', host });
  }

  async create(order: CreateOrder, fence: BackEndFence): Promise<OrderResult> {
    return this.createFor(order, { by: 'conductor', ...fence });
  }

  async bind(order: BindOrder, fence: BackEndFence): Promise<OrderResult> {
    return this.bindFor(order, { by: 'conductor', ...fence });
  }

  async addBinding(order: BindOrder, fence: BackEndFence): Promise<OrderResult> {
    const caller: OrderOrigin = { by: 'conductor', ...fence };
    const add = (port: PortToBind, to: BindDestination): OrderEffect => this.#ports.addBinding(port, to);
    return this.#forEachPort(order.ports, (port) => this.#callBind('bind', { order, port, caller }, add));
  }

  async activateBinding(order: BindOrder, fence: BackEndFence): Promise<OrderResult> {
    const caller: OrderOrigin = { by: 'conductor', ...fence };
    const activate = (port: PortToBind, to: BindDestination): OrderEffect => {
      const done = this.#ports.activateBinding(port, to);
      this.#emitIfConnected(done, to, port);
      return done;
    };
    return this.#forEachPort(order.ports, (port) => this.#callBind('activate', { order, port, caller }, activate));
  }

  async deleteBinding(order: DeleteBindingOrder, fence: BackEndFence): Promise<OrderResult> {
    const { instance, host } = order;
    return this.#forEachPort(order.ports, (port: InactiveBinding) =>
      this.#call({ op: 'unbind', instance, host, ...port }, { by: 'conductor', ...fence }, () =>
        this.#ports.deleteBinding(port, host),
      ),
    );
  }

  async unbind(order: ReleaseOrder, fence: BackEndFence): Promise<OrderResult> {
    return this.#forEachPort(order.ports, (port) => this.#unbindOne(order, port, { by: 'conductor', ...fence }));
  }

  async release(order: ReleaseOrder, fence: BackEndFence): Promise<OrderResult> {
    return this.releaseFor(order, { by: 'conductor', ...fence });
  }

  async createFor(order: CreateOrder, caller: OrderOrigin, host?: string): Promise<OrderResult> {
    const { instance, ports } = order;
    const from = { instance, by: caller.by, atMs: this.#clock.nowMs(), ...(host !== undefined && { host }) };
    const nth = this.calls.record({ op: 'create', ports: ports.map(({ port }) => port), ...from });
    const whole = this.faults.trigger({ op: 'create', host });
    const faults = ports.map(({ nic }) => whole ?? this.faults.trigger({ op: 'create', host, nic }));
    try {
      for (const fault of whole === undefined ? faults : [whole]) await this.#awaitArrival(fault, caller);
      if (!this.#isCurrentLease(caller)) return this.#recordResult(nth, { kind: 'stale' });
      const done = ports.map((port, at) => this.#applyFault(faults[at], () => this.#ports.create(port, instance)));
      if (faults.some((fault) => fault?.outcome === 'applied-but-lost')) throw answerLost();
      return this.#recordResult(
        nth,
        joinResults(done.map((one, at) => toPortResult(one, ports[at]?.port ?? '', 'create'))),
      );
    } catch (error) {
      this.calls.recordResult(nth, 'unavailable');
      throw error;
    }
  }

  async bindFor(order: BindOrder, caller: OrderOrigin): Promise<OrderResult> {
    return this.#forEachPort(order.ports, (port) => this.#bindOne(order, port, caller));
  }

  async releaseFor(order: ReleaseOrder, caller: OrderOrigin): Promise<OrderResult> {
    return this.#forEachPort(order.ports, (port) => this.#releaseOne(order, port, caller));
  }

  #bindOne(order: BindOrder, port: PortToBind, caller: OrderOrigin): Promise<PortResult> {
    const bind = (one: PortToBind, to: BindDestination): OrderEffect => {
      const done = this.#ports.bind(one, to);
      this.#emitIfConnected(done, to, one);
      return done;
    };
    return this.#callBind('bind', { order, port, caller }, bind);
  }

  #callBind(
    op: 'bind' | 'activate',
    { order, port, caller }: { readonly order: BindOrder; readonly port: PortToBind; readonly caller: OrderOrigin },
    bind: (port: PortToBind, to: BindDestination) => OrderEffect,
  ): Promise<PortResult> {
    const { instance, host } = order;
    return this.#call({ op, instance, host, ...port }, caller, (fault) =>
      bind(port, { instance, host, type: fault === 'binding-failed' ? BINDING_FAILED : CONNECTED }),
    );
  }

  #unbindOne({ instance }: ReleaseOrder, port: PortToRelease, caller: OrderOrigin): Promise<PortResult> {
    return this.#call({ op: 'unbind', instance, ...port }, caller, () => this.#ports.unbind(port, instance));
  }

  #releaseOne({ instance }: ReleaseOrder, port: PortToRelease, caller: OrderOrigin): Promise<PortResult> {
    const kept = (port.end ?? (port.createdBy === 'user' ? 'keep' : 'delete')) === 'keep';
    return this.#call({ op: kept ? 'unbind' : 'delete', instance, ...port }, caller, () =>
      this.#ports.release(port, instance),
    );
  }

  /** Sent again when the bind is repeated: the receiver of the first one may have forgotten it. */
  #emitIfConnected(
    done: OrderEffect,
    { instance, host }: BindDestination,
    { port, serial, segment, nic }: PortToBind,
  ): void {
    if (done.kind === 'stale' || done.reply.type !== CONNECTED || !this.eventsEnabled) return;
    const fault = this.faults.trigger({ op: 'plug', host, segment, nic });
    const name = plugEventName(fault?.outcome);
    if (name !== undefined) this.#emit({ port, name, serial, instance });
  }

  /** All at once: one that is slow or fails holds up no other. */
  async #forEachPort<P>(ports: readonly P[], one: (port: P) => Promise<PortResult>): Promise<OrderResult> {
    return joinResults(await Promise.all(ports.map(one)));
  }

  async #call(
    call: PortCall,
    caller: OrderOrigin,
    apply: (fault?: OrderFaultOutcome) => OrderEffect,
  ): Promise<PortResult> {
    const { op, instance, port, serial, host, segment, nic } = call;
    const from = { by: caller.by, atMs: this.#clock.nowMs(), ...(host !== undefined && { host }) };
    const nth = this.calls.record({ op, instance, port, serial, ...from });
    const fault = this.faults.trigger({ op, host, segment, nic });
    const ended = await this.#settle(call, caller, { fault, apply });
    this.calls.recordResult(
      nth,
      ended.kind === 'stale' || ended.answer.outcome === 'ok' ? ended.kind : ended.answer.outcome,
    );
    return ended;
  }

  async #settle(
    { port, op }: PortCall,
    caller: OrderOrigin,
    {
      fault,
      apply,
    }: { readonly fault: ArmedFault | undefined; readonly apply: (fault?: OrderFaultOutcome) => OrderEffect },
  ): Promise<PortResult> {
    try {
      await this.#awaitArrival(fault, caller);
      if (!this.#isCurrentLease(caller)) return { kind: 'stale' };
      if (op !== 'bind' && fault?.outcome === 'not-found') this.#ports.remove(port);
      const done = this.#applyFault(fault, apply);
      if (fault?.outcome === 'applied-but-lost') throw answerLost();
      return toPortResult(done, port, op);
    } catch (error) {
      if (!(error instanceof NetworkUnavailable)) throw error;
      return { kind: 'applied', answer: { port, outcome: 'unavailable', text: error.message } };
    }
  }

  /** The way to the back end: it may take time, and may fail. Nothing arrives after the deadline, nor after the caller aborted it. */
  async #awaitArrival(fault: ArmedFault | undefined, { deadlineAtMs, signal }: OrderOrigin): Promise<void> {
    const leftMs = deadlineAtMs - this.#clock.nowMs();
    const delayMs = fault?.outcome === 'hang' ? Number.POSITIVE_INFINITY : (fault?.delayMs ?? 0);
    if (delayMs > 0) await this.#clock.sleep(Math.max(0, Math.min(delayMs, leftMs)), signal);
    if (signal?.aborted === true) throw new NetworkUnavailable('the call was aborted before it arrived');
    if (delayMs > leftMs) throw new NetworkUnavailable('the back end did not answer in time');
  }

  /** False for a call of a server that is no longer leader. */
  #isCurrentLease({ leaseEpoch }: OrderOrigin): boolean {
    if (leaseEpoch === undefined) return true;
    if (leaseEpoch < this.#leaseEpoch) return false;
    this.#leaseEpoch = leaseEpoch;
    return true;
  }

  #applyFault(fault: ArmedFault | undefined, apply: (fault?: OrderFaultOutcome) => OrderEffect): OrderEffect {
    const outcome = fault?.outcome ?? 'ok';
    if (outcome === 'ok' || outcome === 'applied-but-lost' || outcome === 'binding-failed') return apply(outcome);
    return { kind: 'applied', reply: REPLIES[outcome as Exclude<PortOutcome, 'ok'>] };
  }

  #recordResult(nth: number, carried: OrderResult): OrderResult {
    const bad = carried.kind === 'stale' ? undefined : carried.ports.find(({ outcome }) => outcome !== 'ok');
    this.calls.recordResult(nth, bad?.outcome ?? carried.kind);
    return carried;
  }
}

/** The event about a bound port; undefined when there is none. */
function plugEventName(fault: OrderFaultOutcome | undefined): NetworkEventReport['name'] | undefined {
  if (fault === 'hang') return undefined;
  return fault === 'plug-failed' ? 'failed' : fault === 'unplugged' ? 'unplugged' : 'plugged';
}
