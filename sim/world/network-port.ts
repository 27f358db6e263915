// The network back end as one incarnation of a server, or of a host's agent, reaches it: every call takes a path that delays, loses and
// repeats. The back end at the other end is the simulated one that ships with the product.
import {
  NetworkUnavailable,
  type BackEndFence,
  type BindOrder,
  type OrderResult,
  type CreateOrder,
  type DeleteBindingOrder,
  type ReleaseOrder,
  type HostNetworkRequest,
  type HostNetwork,
  type NetworkBackEnd,
  type NetworkOrder,
  type PortAnswer,
} from '../../src/network/index.ts';
import type { Program, ReplyHandle } from '../kernel/program.ts';
import type { World } from './world.ts';

class NetworkCalls {
  readonly #world: World;
  readonly #program: Program;
  /** The caller's timeout on the wire; without it the caller has its own. */
  readonly #patienceMs: number | undefined;

  constructor(world: World, program: Program, patienceMs?: number) {
    this.#world = world;
    this.#program = program;
    this.#patienceMs = patienceMs;
  }

  exchange<T>(name: string, serve: () => Promise<T>): Promise<T> {
    const { network } = this.#world;
    const passage = network.path.draw(network.rng);
    return this.#program.call('network', name, (reply) => {
      if (passage.kind !== 'served') this.#world.fault(this.#program.name, `${name} ${passage.kind}`);
      switch (passage.kind) {
        case 'served':
        case 'repeated':
          this.#deliver(name, passage.requestMs, () => this.#serve(serve, reply, passage.replyMs));
          if (passage.kind === 'repeated') this.#deliver(name, passage.againMs, () => this.#serve(serve));
          return;
        case 'request-lost':
          return this.#timeOut(reply, passage.afterMs);
        case 'reply-lost':
        case 'served-late':
          this.#timeOut(reply, passage.afterMs);
          return this.#deliver(name, passage.requestMs, () => this.#serve(serve));
      }
    });
  }

  #timeOut(reply: ReplyHandle<unknown>, afterMs = this.#patienceMs): void {
    if (afterMs !== undefined) reply.fail(afterMs, new NetworkUnavailable('the way to the network broke'));
  }

  /** The request arrives. If the sender crashes in the first half of that time, the request was never sent. */
  #deliver(name: string, afterMs: number, serve: () => Promise<void>): void {
    const { network, scheduler } = this.#world;
    scheduler.after(afterMs, `network gets ${name} of ${this.#program.name}`, () => {
      if (this.#program.alive || network.rng.chance(0.5)) void serve();
    });
  }

  async #serve<T>(serve: () => Promise<T>, reply?: ReplyHandle<T>, replyMs = 1): Promise<void> {
    try {
      const answer = await serve();
      reply?.answer(replyMs, answer);
    } catch (error) {
      reply?.fail(replyMs, error instanceof Error ? error : new Error(String(error)));
    }
    this.#world.onNetworkChanged();
  }
}

/** For the lease holder. */
export class NetworkPort implements NetworkBackEnd {
  readonly name = 'simulated';
  readonly #world: World;
  readonly #program: Program;
  readonly #calls: NetworkCalls;

  constructor(world: World, program: Program) {
    this.#world = world;
    this.#program = program;
    this.#calls = new NetworkCalls(world, program);
  }

  create(order: CreateOrder, fence: BackEndFence): Promise<OrderResult> {
    return this.#call(order, fence, (backEnd, until) => backEnd.create(order, until));
  }

  bind(order: BindOrder, fence: BackEndFence): Promise<OrderResult> {
    return this.#call(order, fence, (backEnd, until) => backEnd.bind(order, until));
  }

  addBinding(order: BindOrder, fence: BackEndFence): Promise<OrderResult> {
    return this.#call(order, fence, (backEnd, until) => backEnd.addBinding(order, until));
  }

  activateBinding(order: BindOrder, fence: BackEndFence): Promise<OrderResult> {
    return this.#call(order, fence, (backEnd, until) => backEnd.activateBinding(order, until));
  }

  deleteBinding(order: DeleteBindingOrder, fence: BackEndFence): Promise<OrderResult> {
    return this.#call(order, fence, (backEnd, until) => backEnd.deleteBinding(order, until));
  }

  unbind(order: ReleaseOrder, fence: BackEndFence): Promise<OrderResult> {
    return this.#call(order, fence, (backEnd, until) => backEnd.unbind(order, until));
  }

  release(order: ReleaseOrder, fence: BackEndFence): Promise<OrderResult> {
    return this.#call(order, fence, (backEnd, until) => backEnd.release(order, until));
  }

  #call(
    { op, instance }: NetworkOrder,
    { leaseEpoch, deadlineAtMs }: BackEndFence,
    ask: (backEnd: NetworkBackEnd, fence: BackEndFence) => Promise<OrderResult>,
  ): Promise<OrderResult> {
    // Clocks differ: the wire carries the time left, counted from when it was sent. What is on the wire is not called back.
    const { signal } = new AbortController();
    const until = { leaseEpoch, deadlineAtMs: deadlineAtMs - this.#program.skewMs, signal };
    return this.#calls.exchange(`${op} ${instance}`, () => ask(this.#world.network.backEnd, until));
  }
}

const HOST_PATIENCE_MS = 30_000;

/** For hosts that make or bind ports themselves. */
export class HostNetworkPort implements HostNetwork {
  readonly #world: World;
  readonly #calls: NetworkCalls;

  constructor(world: World, program: Program) {
    this.#world = world;
    this.#calls = new NetworkCalls(world, program, HOST_PATIENCE_MS);
  }

  create(ask: HostNetworkRequest): Promise<readonly PortAnswer[]> {
    return this.#call('create', ask);
  }

  bind(ask: HostNetworkRequest): Promise<readonly PortAnswer[]> {
    return this.#call('bind', ask);
  }

  release(ask: HostNetworkRequest): Promise<readonly PortAnswer[]> {
    return this.#call('release', ask);
  }

  #call(op: keyof HostNetwork, ask: HostNetworkRequest): Promise<readonly PortAnswer[]> {
    const { hostNetwork } = this.#world.network.backEnd;
    return this.#calls.exchange(`${op} ${ask.instance}`, () => hostNetwork[op](ask));
  }
}
