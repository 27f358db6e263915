// A compute node: a disk that survives, a machine that applies views, and an agent program that is started and crashes. The agent is the
// real one. What runs on the machine runs with or without the agent.
import type { Stamp, View } from '../../src/agent/index.ts';
import { verifyFake } from '../../src/agent/protocol/signer-fixture.ts';
import type { Agent, Disk, FileName } from '../../src/agent/runtime.ts';
import { DiskFailed } from '../../src/link/index.ts';
import { SimulatedSwitch } from '../../src/dataplane/runtime.ts';
import { SimClock, SimIds } from '../kernel/clock.ts';
import { Program } from '../kernel/program.ts';
import type { Rng } from '../kernel/rng.ts';
import { SimAgentLink } from './agent-link.ts';
import type { Link } from './link.ts';
import { machineDriver, WatchedHypervisor } from './machine-driver.ts';
import { logInto } from './server.ts';
import type { World } from './world.ts';

interface AgentIncarnation {
  readonly program: Program;
  readonly agent: Agent;
}

export class HostMachine {
  readonly name: string;
  readonly site: string;
  readonly link: Link;
  /** The result of its preflight. */
  passesPreflight = true;
  /** Writes to its disk fail. */
  diskFull = false;
  /** Services that it cannot prepare, by their ids. */
  readonly unpreparable = new Set<string>();
  /** Since when its switch cannot be controlled, for as long as that lasts. */
  uncontrolledSinceMs: number | undefined;
  /** When its switch last began to forward again after it was dead or without power. */
  forwardsSinceMs = -Infinity;
  /** When its agent was last started. */
  startedMs = 0;
  /** Whether it has power: without it nothing runs on it, and its agent is not started. */
  powered = true;
  /** Its service version; the newest when absent. */
  serviceVersion: number | undefined;
  readonly hypervisor: WatchedHypervisor;
  /** Whether its switch runs BFD with its peers. */
  readonly hasBfd: boolean;
  /** Its contents stay when the agent dies, and when the power fails. */
  readonly switch: SimulatedSwitch;
  /** The token that an operator put there for its agent. */
  joinToken: string | undefined;
  /** Every view and task that its driver got, in order. */
  readonly driverCalls: { readonly stamp: Stamp; readonly what: string }[] = [];
  /** The digest of the view that it has converged on. */
  convergedDigest: string | undefined;
  /** The last view that was fully applied to its switch: an agent from before services leaves that as it is. */
  view: View | undefined;
  readonly #world: World;
  readonly #rng: Rng;
  readonly #issued = new Map<string, Stamp>();
  /** The digest of the view that was issued under a stamp. */
  readonly #digests = new Map<string, string>();
  readonly #files = new Map<FileName, string>();
  #starts = 0;
  #incarnation: AgentIncarnation | undefined;

  constructor(name: string, site: string, world: World, { listens = false } = {}) {
    this.name = name;
    this.site = site;
    this.link = world.newLink();
    this.#world = world;
    this.#rng = world.rng.fork();
    const peer = (host: string): WatchedHypervisor | undefined =>
      world.machines.find((machine) => machine.name === host)?.hypervisor;
    // A switch works without its agent, as long as there is power.
    const isBfdUp = (host: string): boolean => {
      const other = world.machines.find((machine) => machine.name === host);
      return other?.powered === true && !other.switch.faults.dead;
    };
    this.hasBfd = listens;
    this.switch = new SimulatedSwitch({ host: name, ...(listens && { isBfdUp }) });
    this.hypervisor = new WatchedHypervisor(this.#rng.fork(), peer, () => world.onMachineChanged(this));
  }

  get incarnation(): AgentIncarnation | undefined {
    return this.#incarnation;
  }

  start(): void {
    if (this.#incarnation !== undefined || !this.powered) return;
    this.#starts += 1;
    this.startedMs = this.#world.scheduler.nowMs;
    const { scheduler, calls, parts, servers } = this.#world;
    const program = new Program(`${this.name}.${this.#starts}`, scheduler, calls);
    const clock = new SimClock(program);
    const ports = {
      link: new SimAgentLink(this.#world, program, { link: this.link, issued: (view) => this.#note(view) }),
      disk: this.#disk(program),
      driver: machineDriver({
        world: this.#world,
        machine: this,
        program,
        rng: this.#rng,
        follow: (stamp, what, text) => this.#follow(stamp, what, text),
      }),
      clock,
      ids: new SimIds(program.name, clock, this.#rng.fork()),
      random: () => this.#rng.below(1000) / 1000,
      log: logInto(this.#world, program.name),
      verify: verifyFake,
    };
    const joinToken = async (): Promise<string | undefined> => this.joinToken;
    const urls = servers.map((server) => server.url);
    const { serviceVersion } = this;
    const version = serviceVersion === undefined ? {} : { serviceVersion };
    const agent = parts.agent(ports, { servers: urls, name: this.name, joinToken, ...version });
    this.#incarnation = { program, agent };
    agent.run(new AbortController().signal).catch((error: unknown) => {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.#world.violate('an agent never stops by itself', `${program.name}: ${text}`);
    });
  }

  crash(): void {
    this.#incarnation?.program.crash();
    this.#incarnation = undefined;
  }

  /** Its agent is replaced by one of this version; by the newest when absent. */
  replaceAgent(serviceVersion: number | undefined): void {
    this.serviceVersion = serviceVersion;
    if (this.#incarnation === undefined) return;
    this.crash();
    this.start();
  }

  /** Its sockets are cut, or its daemon has stopped with everything it forwards; its agent lives on. */
  loseControl(how: 'cut' | 'dead'): void {
    this.switch.faults[how] = true;
    this.uncontrolledSinceMs = this.#world.scheduler.nowMs;
  }

  regainControl(): void {
    if (this.switch.faults.dead) this.forwardsSinceMs = this.#world.scheduler.nowMs;
    Object.assign(this.switch.faults, { cut: false, dead: false });
    this.uncontrolledSinceMs = undefined;
  }

  losePower(): void {
    this.powered = false;
    this.crash();
    this.#world.onMachineChanged(this);
  }

  getPower(): void {
    this.powered = true;
    this.forwardsSinceMs = this.#world.scheduler.nowMs;
    this.start();
    this.#world.onMachineChanged(this);
  }

  #disk(program: Program): Disk {
    return {
      read: (name) => program.call('disk', `read ${name}`, (reply) => void reply.answer(1, this.#files.get(name))),
      write: (name, text) =>
        program.call<undefined>('disk', `write ${name}`, (reply) => {
          if (this.diskFull) {
            this.#world.fault(this.name, 'disk-full');
            reply.fail(1, new DiskFailed('the disk is full'));
            return;
          }
          // A crash in between: all of it is there, or nothing.
          program.scheduler.after(1, `${this.name} has written ${name}`, () => {
            if (program.alive || this.#rng.chance(0.5)) this.#files.set(name, text);
            reply.answer(0, undefined);
          });
        }),
    };
  }

  /** Records the newest stamp under which a server really issued this view. */
  #note({ stamp, digest, tasks }: View): void {
    this.#digests.set(JSON.stringify(stamp), digest);
    for (const what of [digest, ...tasks.map(({ id }) => id)]) {
      const before = this.#issued.get(what);
      // The same view may be issued under a newer lease by a server that has read less: the agent refuses it.
      const isNewer =
        before === undefined || (before.leaseEpoch <= stamp.leaseEpoch && before.revision <= stamp.revision);
      if (isNewer) this.#issued.set(what, stamp);
    }
  }

  /**
   * What a server issued counts, whatever the agent made of it. The agent's own clearing is under the view that it has: the same view may
   * have been issued again under a newer stamp, which an agent that has it already does not store.
   */
  #follow(stamp: Stamp, what: string, text: string): void {
    const digest = this.#digests.get(JSON.stringify(stamp));
    const issued = this.#issued.get(text) ?? (digest === undefined ? undefined : this.#issued.get(digest));
    this.driverCalls.push({ stamp: issued ?? stamp, what });
    this.#world.onDriverCall(this);
  }
}
