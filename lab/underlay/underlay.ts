// The lab without Muster: hosts, the network between them, the network outside. It exists until it is closed; what a crash leaves
// is cleared away by the next one that starts.
import { runConcurrently } from '../run-concurrently.ts';
import { runAll } from '../command.ts';
import { cleanDeadLabs, cleanLab } from './clean.ts';
import { LabHost } from './host.ts';
import { sharedCommands } from './links-plan.ts';
import { beginManifest } from './manifest.ts';
import { HOSTS_MAX, hostNames, type LabNames } from './names.ts';

/** Most of the time of a host is spent in short programs: more at once than twice two cores only wait for each other. */
const HOSTS_AT_ONCE = 4;

export interface UnderlayOptions {
  readonly hosts: number;
  /** Called with progress. */
  readonly say?: (line: string) => void;
  /** Stops a lab that is not up yet. */
  readonly signal?: AbortSignal;
}

export class Underlay {
  readonly names: LabNames;
  readonly #hosts: LabHost[] = [];

  private constructor(names: LabNames) {
    this.names = names;
  }

  static async start({ hosts, say = () => undefined, signal }: UnderlayOptions): Promise<Underlay> {
    if (!Number.isInteger(hosts) || hosts < 1 || hosts > HOSTS_MAX) throw new RangeError(`${hosts} hosts`);
    for (const id of await cleanDeadLabs()) say(`cleared away lab ${id}, which had been left behind`);
    const underlay = new Underlay(await beginManifest());
    say(`lab ${underlay.names.id} begins in ${underlay.names.folder}`);
    try {
      signal?.throwIfAborted();
      await runAll(sharedCommands(underlay.names), signal);
      await underlay.addHosts(hosts, { say, ...(signal !== undefined && { signal }) });
    } catch (error) {
      await underlay.close();
      throw error;
    }
    return underlay;
  }

  get hosts(): readonly LabHost[] {
    return this.#hosts;
  }

  /** By its number, from 1. */
  host(number: number): LabHost {
    const host = this.#hosts[number - 1];
    if (host === undefined) throw new RangeError(`the lab has no host ${number}`);
    return host;
  }

  /** More hosts, with the numbers that follow. */
  async addHosts(count: number, { say, signal }: Omit<UnderlayOptions, 'hosts'> = {}): Promise<readonly LabHost[]> {
    const first = this.#hosts.length + 1;
    const added = Array.from({ length: count }, (_, index) => new LabHost(hostNames(this.names, first + index)));
    let up = 0;
    await runConcurrently(added, HOSTS_AT_ONCE, async (host) => {
      await host.begin(this.names, signal);
      up += 1;
      say?.(`${host.names.name} is up (${up} of ${count})`);
    });
    this.#hosts.push(...added);
    return added;
  }

  close(): Promise<void> {
    return cleanLab(this.names);
  }
}
