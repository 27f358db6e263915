// Many agents in one process: the same agent code as on a real host, each with a simulated machine and disk. They share the link. Single
// ones are stopped and started to show what a silent host looks like.
import type { Clock, Ids } from '../../journal/index.ts';
import type { Log } from '../../operations/index.ts';
import { Agent, type AgentStatus } from '../node/agent.ts';
import { verifyEd25519 } from '../protocol/ed25519.ts';
import { HttpLink } from '../node/http-link.ts';
import { StateMemoryDisk } from '../node/state/memory-disk.ts';
import type { Disk, AgentLink, LocalDriver } from '../node/ports.ts';
import { SimulatedNodeDriver, type SimulatedNodeOptions } from './simulated-node.ts';
import type { Verify } from '../../link/index.ts';
import type { SimulatedHypervisor } from '../node/instances/simulated-hypervisor.ts';

export interface SimulatedAgentsOptions {
  readonly link: AgentLink;
  readonly servers: readonly string[];
  /** Makes or finds a join token for a host; called only when its disk has no credential that works. */
  readonly joinToken: (host: string) => Promise<string | undefined>;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'secret'>;
  readonly random: () => number;
  readonly log: Log;
  readonly heartbeatMs?: number;
  readonly checkMs?: number;
  /** Starts are spread over this time, so that ten thousand agents do not start at one instant. */
  readonly spreadMs?: number;
  /** The disk of a host; by default in memory, as long as this process runs. */
  readonly diskOf?: (host: string) => Disk;
  /** The machine of a host: how long its tasks take, what fails there. It keeps what runs on the host's disk. */
  readonly driverOptionsOf?: (host: string) => Omit<SimulatedNodeOptions, 'clock'>;
  /** Instead of a simulated machine. */
  readonly driverOf?: (host: string) => LocalDriver;
  /** Replaces the real signature check, for control planes that sign with something cheaper. */
  readonly verify?: Verify;
}

export interface AgentStartOptions {
  /** The version of agents that are installed from now on; the previous one stays when absent. */
  readonly serviceVersion?: number | undefined;
}

interface SimulatedHost {
  readonly disk: Disk;
  readonly driver: LocalDriver;
}

interface RunningSimulatedAgent {
  readonly agent: Agent;
  readonly stopping: AbortController;
  readonly ended: Promise<void>;
}

export class SimulatedAgents {
  readonly #options: SimulatedAgentsOptions;
  /** A machine and its disk outlive the agent on it. */
  readonly #machines = new Map<string, SimulatedHost>();
  readonly #running = new Map<string, RunningSimulatedAgent>();
  /** The version of the agent on a host, where it is not the newest. */
  readonly #versions = new Map<string, number>();

  constructor(options: SimulatedAgentsOptions) {
    this.#options = options;
  }

  get hosts(): readonly string[] {
    return [...this.#running.keys()];
  }

  statusOf(host: string): AgentStatus | undefined {
    return this.#running.get(host)?.agent.status();
  }

  /** What runs on a host; undefined when its machine is none of ours. */
  hypervisorOf(host: string): SimulatedHypervisor | undefined {
    const { driver } = this.#machineOf(host);
    return driver instanceof SimulatedNodeDriver ? driver.hypervisor : undefined;
  }

  /** Starts the agent of a host, unless it runs. */
  start(host: string, { serviceVersion = this.#versions.get(host) }: AgentStartOptions = {}): void {
    if (this.#running.has(host)) return;
    if (serviceVersion !== undefined) this.#versions.set(host, serviceVersion);
    const { link, servers, joinToken, clock, ids, random, log, heartbeatMs, checkMs: resyncMs } = this.#options;
    const { verify = verifyEd25519 } = this.#options;
    const agent = new Agent(
      { ...this.#machineOf(host), link, clock, ids, random, log, verify },
      {
        servers,
        name: host,
        joinToken: () => joinToken(host),
        ...(heartbeatMs !== undefined && { heartbeatMs }),
        ...(resyncMs !== undefined && { resyncMs }),
        ...(serviceVersion !== undefined && { serviceVersion }),
      },
    );
    const stopping = new AbortController();
    const ended = this.#run(host, agent, stopping);
    this.#running.set(host, { agent, stopping, ended });
  }

  async #run(host: string, agent: Agent, stopping: AbortController): Promise<void> {
    const { clock, random, spreadMs = 0, log } = this.#options;
    if (spreadMs > 0) await clock.sleep(random() * spreadMs, stopping.signal);
    try {
      await agent.run(stopping.signal);
    } catch (error) {
      // One failed agent is one silent host, not the end of the others.
      log.error({ host, err: error }, 'a simulated agent stopped by a fault of the program');
      stopping.abort();
    }
  }

  /** Stops the agent of a host; its machine and disk stay. */
  async stop(host: string): Promise<void> {
    const running = this.#running.get(host);
    if (running === undefined) return;
    running.stopping.abort();
    await running.ended;
    if (this.#running.get(host) === running) this.#running.delete(host);
  }

  /** Installs another version of the agent, or restarts the same one. */
  async restart(host: string, how: AgentStartOptions = {}): Promise<void> {
    await this.stop(host);
    this.start(host, how);
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.#running.keys()].map((host) => this.stop(host)));
  }

  #machineOf(host: string): SimulatedHost {
    const { clock, diskOf, driverOptionsOf, driverOf } = this.#options;
    let machine = this.#machines.get(host);
    if (machine === undefined) {
      const disk = diskOf?.(host) ?? new StateMemoryDisk();
      const peer = (name: string): SimulatedHypervisor | undefined => this.hypervisorOf(name);
      const driver = driverOf?.(host) ?? new SimulatedNodeDriver({ disk, peer, ...driverOptionsOf?.(host), clock });
      machine = { disk, driver };
      this.#machines.set(host, machine);
    }
    return machine;
  }
}

export interface HttpSimulationOptions extends Omit<SimulatedAgentsOptions, 'link'> {
  readonly hosts: readonly string[];
  readonly ca?: string | undefined;
}

/** Runs simulated agents against real servers, over real HTTP, until they are stopped. */
export function runSimulatedAgents({ hosts, ca, ...options }: HttpSimulationOptions): {
  readonly agents: SimulatedAgents;
  readonly stop: () => Promise<void>;
} {
  const link = new HttpLink({ ca });
  const agents = new SimulatedAgents({ ...options, link });
  for (const host of hosts) agents.start(host);
  const stop = async (): Promise<void> => {
    await agents.stopAll();
    link.close();
  };
  return { agents, stop };
}
