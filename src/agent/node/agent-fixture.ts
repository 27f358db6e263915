// An agent on the rack: its ports can be tapped, its program crashed and started again on the same disk and machine.
import type { Task, TaskFence, TaskResult } from '../../operations/index.ts';
import { Agent, type AgentOptions } from './agent.ts';
import { StateMemoryDisk } from './state/memory-disk.ts';
import type {
  CollectRequest,
  CollectResponse,
  DepositRequest,
  DepositResponse,
  HeartbeatResponse,
  Heartbeat,
  JoinRequest,
  JoinResponse,
  Observations,
  ObservationsResponse,
  View,
  ViewResponse,
  ViewRequest,
} from '../protocol/messages.ts';
import { SILENT, type TestControlPlane } from '../server/control-plane-fixture.ts';
import { verifyFake } from '../protocol/signer-fixture.ts';
import type { AgentPorts, AgentLink } from './ports.ts';
import type { Reply, CallTarget } from '../../link/index.ts';
import { SimulatedNodeDriver, type SimulatedNodeOptions } from '../simulation/simulated-node.ts';

export type CallName = Exclude<keyof AgentLink, 'isAuthenticated' | 'certificates'>;
type AnyReply = Reply<
  JoinResponse | HeartbeatResponse | ViewResponse | ObservationsResponse | DepositResponse | CollectResponse
>;

/** Sees every call of a link: may let it through, lose it, lose its answer, or answer something else. */
export type Tap = (name: CallName, pass: () => Promise<AnyReply>, to: CallTarget) => Promise<AnyReply>;

export class TappedLink implements AgentLink {
  readonly #link: AgentLink;
  tap: Tap = (_name, pass) => pass();
  /** As over TLS: whatever comes is of the control plane. */
  authenticated = false;
  readonly calls: CallName[] = [];
  /** What was said with heartbeats. */
  readonly beats: Heartbeat[] = [];
  /** What the polls said that the agent has. */
  readonly viewRequests: ViewRequest[] = [];

  constructor(link: AgentLink) {
    this.#link = link;
  }

  isAuthenticated(server: string): boolean {
    return this.authenticated || this.#link.isAuthenticated(server);
  }

  join(to: CallTarget, join: JoinRequest): Promise<Reply<JoinResponse>> {
    return this.#runTapped('join', () => this.#link.join(to, join), to) as Promise<Reply<JoinResponse>>;
  }

  heartbeat(to: CallTarget, beat: Heartbeat): Promise<Reply<HeartbeatResponse>> {
    this.beats.push(beat);
    return this.#runTapped('heartbeat', () => this.#link.heartbeat(to, beat), to) as Promise<Reply<HeartbeatResponse>>;
  }

  view(to: CallTarget, request: ViewRequest, signal: AbortSignal): Promise<Reply<ViewResponse>> {
    this.viewRequests.push(request);
    return this.#runTapped('view', () => this.#link.view(to, request, signal), to) as Promise<Reply<ViewResponse>>;
  }

  observe(to: CallTarget, observations: Observations): Promise<Reply<ObservationsResponse>> {
    return this.#runTapped('observe', () => this.#link.observe(to, observations), to) as Promise<
      Reply<ObservationsResponse>
    >;
  }

  deposit(to: CallTarget, deposit: DepositRequest): Promise<Reply<DepositResponse>> {
    return this.#runTapped('deposit', () => this.#link.deposit(to, deposit), to) as Promise<Reply<DepositResponse>>;
  }

  collect(to: CallTarget, request: CollectRequest, signal: AbortSignal): Promise<Reply<CollectResponse>> {
    return this.#runTapped('collect', () => this.#link.collect(to, request, signal), to) as Promise<
      Reply<CollectResponse>
    >;
  }

  #runTapped(name: CallName, pass: () => Promise<AnyReply>, to: CallTarget): Promise<AnyReply> {
    this.calls.push(name);
    return this.tap(name, pass, to);
  }
}

/** Counts the calls that it gets. */
export class CountingDriver extends SimulatedNodeDriver {
  applies = 0;
  /** The last view that it was to apply. */
  view: View | undefined;
  readonly performed: string[] = [];

  override apply(...args: Parameters<SimulatedNodeDriver['apply']>): ReturnType<SimulatedNodeDriver['apply']> {
    this.applies += 1;
    [this.view] = args;
    return super.apply(...args);
  }

  override perform(task: Task, fence: TaskFence): Promise<TaskResult> {
    this.performed.push(task.id);
    return super.perform(task, fence);
  }
}

export interface TestHostOptions extends Partial<AgentOptions> {
  readonly machine?: Partial<SimulatedNodeOptions>;
}

/** One host: a machine and a disk, and one agent after the other on it. */
export class TestHost {
  readonly disk = new StateMemoryDisk();
  link: TappedLink;
  readonly driver: CountingDriver;
  #controlPlane: TestControlPlane;
  readonly #options: TestHostOptions;
  #stopping = new AbortController();
  #ended: Promise<void> = Promise.resolve();
  agent: Agent | undefined;

  constructor(plane: TestControlPlane, options: TestHostOptions) {
    this.#controlPlane = plane;
    this.#options = options;
    this.link = new TappedLink(plane.link);
    this.driver = new CountingDriver({ clock: plane.clock, ...options.machine });
  }

  /** Moves the machine to another control plane. */
  moveTo(plane: TestControlPlane): void {
    this.#controlPlane = plane;
    this.link = new TappedLink(plane.link);
  }

  start(replace: Partial<AgentPorts> = {}, change: Partial<AgentOptions> = {}): Agent {
    const { clock, ids } = this.#controlPlane;
    const { link, disk, driver } = this;
    const ports = { link, disk, driver, clock, ids, random: () => 0.5, log: SILENT, verify: verifyFake, ...replace };
    this.#stopping = new AbortController();
    this.agent = new Agent(ports, {
      servers: ['s1'],
      joinToken: () => Promise.resolve(undefined),
      ...this.#options,
      ...change,
    });
    this.#ended = this.agent.run(this.#stopping.signal);
    return this.agent;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#ended;
  }
}
