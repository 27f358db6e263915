// Many agents in one process: the same agent code as on a real host, each with a machine and a disk that are not there.
// They share the link. Single ones are stopped and started to show what a silent host looks like.
import type { Clock, Ids } from '../journal/index.ts';
import type { Log } from '../operations/index.ts';
import { Agent, type AgentStatus } from './agent.ts';
import { HttpLink } from './http-link.ts';
import { MemoryDisk } from './memory-disk.ts';
import type { Disk, Link, LocalDriver } from './ports.ts';
import { SimulatedDriver } from './simulated-driver.ts';

export interface SimulatedAgentsOptions {
  readonly link: Link;
  readonly servers: readonly string[];
  /** Makes or finds a join token for a host; asked for only when its disk has no credential that works. */
  readonly joinToken: (host: string) => Promise<string | undefined>;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'secret'>;
  readonly random: () => number;
  readonly log: Log;
  readonly heartbeatMs?: number;
  /** Starts are spread over this time, so that ten thousand agents do not begin in one instant. */
  readonly spreadMs?: number;
  /** The disk of a host; by default one in memory, which lasts as long as this process. */
  readonly diskOf?: (host: string) => Disk;
  readonly driverOf?: (host: string) => LocalDriver;
}

interface Machine {
  readonly disk: Disk;
  readonly driver: LocalDriver;
}

interface Running {
  readonly agent: Agent;
  readonly stopping: AbortController;
  readonly ended: Promise<void>;
}

export class SimulatedAgents {
  readonly #options: SimulatedAgentsOptions;
  /** A machine and its disk outlive the agent on it. */
  readonly #machines = new Map<string, Machine>();
  readonly #running = new Map<string, Running>();

  constructor(options: SimulatedAgentsOptions) {
    this.#options = options;
  }

  get hosts(): readonly string[] {
    return [...this.#running.keys()];
  }

  statusOf(host: string): AgentStatus | undefined {
    return this.#running.get(host)?.agent.status();
  }

  /** Starts the agent of a host, unless it runs. */
  start(host: string): void {
    if (this.#running.has(host)) return;
    const { link, servers, joinToken, clock, ids, random, log, heartbeatMs } = this.#options;
    const agent = new Agent(
      { ...this.#machineOf(host), link, clock, ids, random, log },
      { servers, name: host, joinToken: () => joinToken(host), ...(heartbeatMs !== undefined && { heartbeatMs }) },
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
      // One agent that broke is one silent host, not the end of the others.
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

  async stopAll(): Promise<void> {
    await Promise.all([...this.#running.keys()].map((host) => this.stop(host)));
  }

  #machineOf(host: string): Machine {
    const { clock, diskOf, driverOf } = this.#options;
    let machine = this.#machines.get(host);
    if (machine === undefined) {
      machine = {
        disk: diskOf?.(host) ?? new MemoryDisk(),
        driver: driverOf?.(host) ?? new SimulatedDriver({ clock }),
      };
      this.#machines.set(host, machine);
    }
    return machine;
  }
}

export interface OverHttp extends Omit<SimulatedAgentsOptions, 'link'> {
  readonly hosts: readonly string[];
  readonly ca?: string | undefined;
}

/** Runs simulated agents against real servers, over real HTTP, until they are stopped. */
export function runSimulatedAgents({ hosts, ca, ...options }: OverHttp): {
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
