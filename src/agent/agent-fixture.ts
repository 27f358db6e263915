// An agent on the rack: its ports can be tapped, its program crashed and started again on the same disk and machine.
import type { Task } from '../operations/index.ts';
import { Agent, type AgentOptions } from './agent.ts';
import { MemoryDisk } from './memory-disk.ts';
import type {
  Collect,
  Collected,
  Deposit,
  Deposited,
  Heard,
  Heartbeat,
  Join,
  Joined,
  Observations,
  Observed,
  View,
  ViewAnswer,
  ViewAsk,
} from './messages.ts';
import { SILENT, type Plane } from './plane-fixture.ts';
import { verifyFake } from './signer-fixture.ts';
import type { AgentPorts, Fence, Link, Performed, Reply, Session } from './ports.ts';
import { SimulatedDriver, type SimulatedMachine } from './simulated-driver.ts';

export type CallName = Exclude<keyof Link, 'isAuthenticated' | 'certificates'>;
type AnyReply = Reply<Joined | Heard | ViewAnswer | Observed | Deposited | Collected>;

/** Sees every call of a link: may let it through, lose it, lose its answer, or answer something else. */
export type Tap = (name: CallName, pass: () => Promise<AnyReply>, to: Session) => Promise<AnyReply>;

export class TappedLink implements Link {
  readonly #link: Link;
  tap: Tap = (_name, pass) => pass();
  /** As over TLS: whatever comes is of the control plane. */
  authenticated = false;
  readonly calls: CallName[] = [];
  /** What was said with heartbeats. */
  readonly beats: Heartbeat[] = [];
  /** What the polls said that the agent has. */
  readonly asks: ViewAsk[] = [];

  constructor(link: Link) {
    this.#link = link;
  }

  isAuthenticated(server: string): boolean {
    return this.authenticated || this.#link.isAuthenticated(server);
  }

  join(to: Session, join: Join): Promise<Reply<Joined>> {
    return this.#tapped('join', () => this.#link.join(to, join), to) as Promise<Reply<Joined>>;
  }

  heartbeat(to: Session, beat: Heartbeat): Promise<Reply<Heard>> {
    this.beats.push(beat);
    return this.#tapped('heartbeat', () => this.#link.heartbeat(to, beat), to) as Promise<Reply<Heard>>;
  }

  view(to: Session, ask: ViewAsk, signal: AbortSignal): Promise<Reply<ViewAnswer>> {
    this.asks.push(ask);
    return this.#tapped('view', () => this.#link.view(to, ask, signal), to) as Promise<Reply<ViewAnswer>>;
  }

  observe(to: Session, observations: Observations): Promise<Reply<Observed>> {
    return this.#tapped('observe', () => this.#link.observe(to, observations), to) as Promise<Reply<Observed>>;
  }

  deposit(to: Session, deposit: Deposit): Promise<Reply<Deposited>> {
    return this.#tapped('deposit', () => this.#link.deposit(to, deposit), to) as Promise<Reply<Deposited>>;
  }

  collect(to: Session, ask: Collect, signal: AbortSignal): Promise<Reply<Collected>> {
    return this.#tapped('collect', () => this.#link.collect(to, ask, signal), to) as Promise<Reply<Collected>>;
  }

  #tapped(name: CallName, pass: () => Promise<AnyReply>, to: Session): Promise<AnyReply> {
    this.calls.push(name);
    return this.tap(name, pass, to);
  }
}

/** Counts what it is asked to do. */
export class CountingDriver extends SimulatedDriver {
  applies = 0;
  /** The last view that it was asked to bring about. */
  view: View | undefined;
  readonly performed: string[] = [];

  override apply(...args: Parameters<SimulatedDriver['apply']>): ReturnType<SimulatedDriver['apply']> {
    this.applies += 1;
    [this.view] = args;
    return super.apply(...args);
  }

  override perform(task: Task, fence: Fence): Promise<Performed> {
    this.performed.push(task.id);
    return super.perform(task, fence);
  }
}

export interface RackOptions extends Partial<AgentOptions> {
  readonly machine?: Partial<SimulatedMachine>;
}

/** One host: a machine and a disk, and one agent after the other on it. */
export class Rack {
  readonly disk = new MemoryDisk();
  link: TappedLink;
  readonly driver: CountingDriver;
  #plane: Plane;
  readonly #options: RackOptions;
  #stopping = new AbortController();
  #ended: Promise<void> = Promise.resolve();
  agent: Agent | undefined;

  constructor(plane: Plane, options: RackOptions) {
    this.#plane = plane;
    this.#options = options;
    this.link = new TappedLink(plane.link);
    this.driver = new CountingDriver({ clock: plane.clock, ...options.machine });
  }

  /** Moves the machine to another control plane. */
  moveTo(plane: Plane): void {
    this.#plane = plane;
    this.link = new TappedLink(plane.link);
  }

  start(replace: Partial<AgentPorts> = {}, change: Partial<AgentOptions> = {}): Agent {
    const { clock, ids } = this.#plane;
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
