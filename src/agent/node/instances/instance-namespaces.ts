// The network namespaces of one host's instances: which there are, how one is made and plugged in, and how it is taken away.
import { interfaceOf, subnetMatcher, type SubnetView } from '../../../dataplane/index.ts';
import type { Clock } from '../../../journal/index.ts';
import { DiskFailed } from '../../../link/index.ts';
import type { RuntimeInstance } from './instance-runtime.ts';
import {
  instanceNamespace,
  plugCommands,
  unplugCommands,
  type NamespaceCommand,
  type NamespaceNic,
} from './namespace-commands.ts';

export interface InstanceNamespacesOptions {
  /** Where the interfaces of the host's switch are. */
  readonly hostNamespace: string;
  /** Runs a command, and answers what it printed. */
  readonly run: (command: NamespaceCommand) => Promise<string>;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly plugs: { plug(port: string): Promise<void>; unplug(port: string): Promise<void> };
}

/** Views come within milliseconds of each other; whoever is not shown a subnet in five seconds is not shown it at all. */
const SUBNET_WAIT_MS = 500;
const SUBNET_WAITS_MAX = 10;

export class InstanceNamespaces {
  readonly #options: InstanceNamespacesOptions;
  #subnets: readonly SubnetView[] = [];
  #subnetsUpdated = new AbortController();

  constructor(options: InstanceNamespacesOptions) {
    this.#options = options;
  }

  /** Prefixes and gateways of what is plugged in from now on. */
  updateSubnets(subnets: readonly SubnetView[]): void {
    this.#subnets = subnets;
    this.#subnetsUpdated.abort('learnt');
    this.#subnetsUpdated = new AbortController();
  }

  /** Makes the namespace of an instance, unless it is there, and plugs it in. */
  async ensure(instance: RuntimeInstance): Promise<void> {
    const namespace = this.#namespaceOf(instance.id);
    if (!(await this.#listNamespaces()).has(namespace)) await this.#create(namespace, instance);
    for (const { port } of instance.nics) await this.#options.plugs.plug(interfaceOf(port));
  }

  /** The order to build may be carried out before the view is followed that it came with. */
  async #waitForSubnets(nics: RuntimeInstance['nics']): Promise<void> {
    const isKnown = (ip: string): boolean => this.#subnets.some(({ cidr }) => subnetMatcher(cidr)(ip));
    const all = nics.flatMap(({ addresses }) => addresses);
    for (let waits = 0; waits < SUBNET_WAITS_MAX && !all.every(isKnown); waits += 1) {
      await this.#options.clock.sleep(SUBNET_WAIT_MS, this.#subnetsUpdated.signal);
    }
  }

  /** The instances of this host that have a namespace, by their ids. */
  async list(): Promise<ReadonlySet<string>> {
    const prefix = instanceNamespace(this.#options.hostNamespace, '');
    return new Set([...(await this.#listNamespaces())].map((name) => name.slice(prefix.length)));
  }

  #namespaceOf(instance: string): string {
    return instanceNamespace(this.#options.hostNamespace, instance);
  }

  /** Those of this host, by their names. */
  async #listNamespaces(): Promise<ReadonlySet<string>> {
    const listed = await this.#run(['ip', 'netns', 'list']);
    const names = listed.split('\n').map((line) => line.split(' ')[0] ?? '');
    return new Set(names.filter((name) => name.startsWith(`${this.#options.hostNamespace}-`)));
  }

  async #create(namespace: string, { nics }: RuntimeInstance): Promise<void> {
    const { hostNamespace } = this.#options;
    await this.#waitForSubnets(nics);
    // One that was half made by a process that ended has left its interfaces behind.
    for (const { port } of nics)
      await this.#runIgnoringFailure(['ip', '-n', hostNamespace, 'link', 'del', interfaceOf(port)]);
    for (const command of plugCommands({ namespace, hostNamespace, nics: nics.map((nic) => this.#nicOf(nic)) })) {
      await this.#run(command);
    }
  }

  /** Its interfaces are known by where their other ends are: their numbers are the same in every namespace. */
  async remove(instance: string): Promise<void> {
    const { hostNamespace, plugs } = this.#options;
    const namespace = this.#namespaceOf(instance);
    const listed = await this.#runIgnoringFailure(['ip', '-n', hostNamespace, '-o', 'link', 'show', 'type', 'veth']);
    const ends = [...listed.matchAll(/^\d+: (mp[0-9a-f]+)@.* link-netns (\S+)/gm)];
    const links = ends.flatMap(([, name = '', end]) => (end === namespace ? [name] : []));
    for (const link of links) await plugs.unplug(link);
    const nics = links.map((hostSide) => ({ hostSide, name: '', mac: '', addresses: [], gateways: [] }));
    for (const command of unplugCommands({ namespace, hostNamespace, nics })) await this.#runIgnoringFailure(command);
    if ((await this.#listNamespaces()).has(namespace))
      throw new DiskFailed(`namespace "${namespace}" cannot be deleted`);
  }

  #nicOf({ port, nic, mac, addresses }: RuntimeInstance['nics'][number]): NamespaceNic {
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
  async #runIgnoringFailure(command: NamespaceCommand): Promise<string> {
    try {
      return await this.#run(command);
    } catch (error) {
      if (error instanceof DiskFailed) return '';
      throw error;
    }
  }
}
