// Instances that are network namespaces: enough of a machine to send real packets, for labs and tests. Level-triggered: what runs is
// made, what runs no more is taken away, whoever made it.
import { interfaceOf, subnetMatcher, type SubnetView } from '../dataplane/index.ts';
import type { Clock } from '../journal/index.ts';
import {
  machineNamespace,
  plugCommands,
  unplugCommands,
  type NamespaceCommand,
  type NamespaceNic,
} from './namespace-plan.ts';
import { DiskFailed } from './ports.ts';
import type { MachineInstance } from './simulated-hypervisor.ts';

export interface NamespacesOptions {
  /** Where the interfaces of the host's switch are. */
  readonly hostNamespace: string;
  /** Runs a command, and answers what it printed. */
  readonly run: (command: NamespaceCommand) => Promise<string>;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly plugs: { plug(port: string): Promise<void>; unplug(port: string): Promise<void> };
}

/** Views come within milliseconds of each other; whoever is not shown a subnet in five seconds is not shown it at all. */
const LEARN_MS = 500;
const LEARN_WAITS = 10;

export class Namespaces {
  readonly #options: NamespacesOptions;
  #subnets: readonly SubnetView[] = [];
  #last: Promise<void> = Promise.resolve();
  #learnt = new AbortController();

  constructor(options: NamespacesOptions) {
    this.#options = options;
  }

  /** Prefixes and gateways of what is plugged in from now on. */
  learn(subnets: readonly SubnetView[]): void {
    this.#subnets = subnets;
    this.#learnt.abort('learnt');
    this.#learnt = new AbortController();
  }

  /** The order to build may be carried out before the view is followed that it came with. */
  async #known(nics: MachineInstance['nics']): Promise<void> {
    const isKnown = (ip: string): boolean => this.#subnets.some(({ cidr }) => subnetMatcher(cidr)(ip));
    const all = nics.flatMap(({ addresses }) => addresses);
    for (let waits = 0; waits < LEARN_WAITS && !all.every(isKnown); waits += 1) {
      await this.#options.clock.sleep(LEARN_MS, this.#learnt.signal);
    }
  }

  /** Brings them in line with what runs. One at a time. */
  bring(instances: readonly MachineInstance[]): Promise<void> {
    const work = (): Promise<void> => this.#bring(instances.filter(({ state }) => state === 'running'));
    this.#last = this.#last.then(work, work);
    return this.#last;
  }

  async #bring(running: readonly MachineInstance[]): Promise<void> {
    const there = await this.#there();
    const wanted = new Map(running.map((instance) => [this.#namespaceOf(instance.id), instance]));
    for (const namespace of there) if (!wanted.has(namespace)) await this.#takeAway(namespace);
    for (const [namespace, instance] of wanted) {
      if (!there.has(namespace)) await this.#make(namespace, instance);
      for (const { port } of instance.nics) await this.#options.plugs.plug(interfaceOf(port));
    }
  }

  #namespaceOf(instance: string): string {
    return machineNamespace(this.#options.hostNamespace, instance);
  }

  /** Those of this host, by their names. */
  async #there(): Promise<ReadonlySet<string>> {
    const listed = await this.#run(['ip', 'netns', 'list']);
    const names = listed.split('\n').map((line) => line.split(' ')[0] ?? '');
    return new Set(names.filter((name) => name.startsWith(`${this.#options.hostNamespace}-`)));
  }

  async #make(namespace: string, { nics }: MachineInstance): Promise<void> {
    const { hostNamespace } = this.#options;
    await this.#known(nics);
    // One that was half made by a process that ended has left its interfaces behind.
    for (const { port } of nics) await this.#quietly(['ip', '-n', hostNamespace, 'link', 'del', interfaceOf(port)]);
    for (const command of plugCommands({ namespace, hostNamespace, nics: nics.map((nic) => this.#nicOf(nic)) })) {
      await this.#run(command);
    }
  }

  /** Its interfaces are known by where their other ends are: their numbers are the same in every namespace. */
  async #takeAway(namespace: string): Promise<void> {
    const { hostNamespace, plugs } = this.#options;
    const listed = await this.#quietly(['ip', '-n', hostNamespace, '-o', 'link', 'show', 'type', 'veth']);
    const ends = [...listed.matchAll(/^\d+: (mp[0-9a-f]+)@.* link-netns (\S+)/gm)];
    const links = ends.flatMap(([, name = '', end]) => (end === namespace ? [name] : []));
    for (const link of links) await plugs.unplug(link);
    const nics = links.map((hostSide) => ({ hostSide, name: '', mac: '', addresses: [], gateways: [] }));
    for (const command of unplugCommands({ namespace, hostNamespace, nics })) await this.#quietly(command);
  }

  #nicOf({ port, nic, mac, addresses }: MachineInstance['nics'][number]): NamespaceNic {
    const subnets = addresses.map((ip) => ({ ip, subnet: this.#subnets.find(({ cidr }) => subnetMatcher(cidr)(ip)) }));
    const gateways = subnets.flatMap(({ subnet }) => subnet?.gateway ?? []);
    return {
      hostSide: interfaceOf(port),
      name: `eth${nic}`,
      mac,
      addresses: subnets.map(
        ({ ip, subnet }) => `${ip}/${subnet?.cidr.split('/')[1] ?? (ip.includes(':') ? '128' : '32')}`,
      ),
      gateways: nic === 0 ? [...new Map(gateways.map((one) => [one.includes(':'), one])).values()] : [],
    };
  }

  async #run(command: NamespaceCommand): Promise<string> {
    try {
      return await this.#options.run(command);
    } catch (error) {
      throw new DiskFailed(`"${command.join(' ')}" failed`, { cause: error });
    }
  }

  /** What is not there need not be taken away. */
  async #quietly(command: NamespaceCommand): Promise<string> {
    try {
      return await this.#run(command);
    } catch (error) {
      if (error instanceof DiskFailed) return '';
      throw error;
    }
  }
}
