// Instances that are network namespaces: enough of a machine to send real packets, for labs and tests. Which there are is on disk;
// one that should run and does not is made again, as after a restart of the host. Only a task takes one away.
import { interfaceOf, subnetMatcher, type SubnetView } from '../../../dataplane/index.ts';
import type { Condition } from '../../../hosts/index.ts';
import type { Clock } from '../../../journal/index.ts';
import { DiskFailed, type Disk } from '../ports.ts';
import { InstanceRecords } from './instance-records.ts';
import {
  CUT_SHORT,
  failNotHere,
  failNotPrepared,
  RUNTIME_DONE,
  type ActivateOrder,
  type InstanceRuntime,
  type InstanceSpec,
  type MigrateOrder,
  type RuntimeCall,
  type RuntimeInstance,
  type RuntimeResult,
  type RuntimeView,
} from './instance-runtime.ts';
import {
  instanceNamespace,
  plugCommands,
  unplugCommands,
  type NamespaceCommand,
  type NamespaceNic,
} from './namespace-commands.ts';

export interface NamespaceRuntimeOptions {
  /** Where the interfaces of the host's switch are. */
  readonly hostNamespace: string;
  /** Runs a command, and answers what it printed. */
  readonly run: (command: NamespaceCommand) => Promise<string>;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly plugs: { plug(port: string): Promise<void>; unplug(port: string): Promise<void> };
  /** Where it remembers what runs. */
  readonly disk: Pick<Disk, 'read' | 'write'>;
}

/** Views come within milliseconds of each other; whoever is not shown a subnet in five seconds is not shown it at all. */
const SUBNET_WAIT_MS = 500;
const SUBNET_WAITS_MAX = 10;

export class NamespaceRuntime implements InstanceRuntime {
  readonly #options: NamespaceRuntimeOptions;
  readonly #records: InstanceRecords;
  #subnets: readonly SubnetView[] = [];
  #opened: Promise<void> | undefined;
  #queue: Promise<unknown> = Promise.resolve();
  #subnetsUpdated = new AbortController();

  constructor(options: NamespaceRuntimeOptions) {
    this.#options = options;
    this.#records = new InstanceRecords(options.disk);
  }

  async open(): Promise<void> {
    this.#opened ??= this.#adopt();
    try {
      await this.#opened;
    } catch (error) {
      this.#opened = undefined; // what failed may be mended
      throw error;
    }
  }

  async #adopt(): Promise<void> {
    await this.#records.load();
    await this.#serialize(async () => {
      const there = await this.#listNamespaces();
      for (const instance of this.instances)
        if (instance.state === 'running') await this.#ensureRunning(instance, there);
    });
  }

  get instances(): readonly RuntimeInstance[] {
    return this.#records.all;
  }

  instance(id: string): RuntimeInstance | undefined {
    return this.#records.get(id);
  }

  sentTo(id: string): string | undefined {
    return this.#records.sentTo(id);
  }

  /** A namespace takes next to nothing. */
  findShortage(): readonly string[] {
    return [];
  }

  build(spec: InstanceSpec, call: RuntimeCall): Promise<RuntimeResult> {
    return this.#serialize(async () => {
      if (call.signal.aborted) return CUT_SHORT;
      const there = await this.#listNamespaces();
      const namespace = this.#namespaceOf(spec.id);
      const before = this.#records.get(spec.id);
      // Half made by a process that ended, or of an instance that is only expected: nothing of it can be used.
      const isLeftover = there.has(namespace) && before?.state !== 'running';
      if (isLeftover) await this.#remove(namespace);
      const made = toInstance(spec, 'running', call);
      await this.#ensureRunning(made, isLeftover ? NOTHING_THERE : there);
      return this.#record(made);
    });
  }

  async prepare(spec: InstanceSpec, call: RuntimeCall): Promise<RuntimeResult> {
    return this.#record(toInstance(spec, 'prepared', call));
  }

  migrate({ id, target }: MigrateOrder, { signal }: RuntimeCall): Promise<RuntimeResult> {
    return this.#serialize(async () => {
      if (signal.aborted) return CUT_SHORT;
      await this.#remove(this.#namespaceOf(id));
      this.#records.markSent(id, target);
      await this.#records.save();
      return RUNTIME_DONE;
    });
  }

  async activate({ id, nics }: ActivateOrder, call: RuntimeCall): Promise<RuntimeResult> {
    const found = this.#records.get(id);
    return found === undefined ? failNotPrepared(id) : this.build({ ...found, nics }, call);
  }

  async start(id: string, call: RuntimeCall): Promise<RuntimeResult> {
    const found = this.#records.get(id);
    return found === undefined ? failNotHere(id) : this.build(found, { ...call, ports: found.ports ?? [] });
  }

  /** Without power it keeps its record and nothing else: there is nothing in a namespace that has to outlive it. */
  stop(id: string, { task, signal }: RuntimeCall): Promise<RuntimeResult> {
    return this.#serialize(async () => {
      const found = this.#records.get(id);
      if (found === undefined) return failNotHere(id);
      if (signal.aborted) return CUT_SHORT;
      await this.#remove(this.#namespaceOf(id));
      return this.#record({ ...found, state: 'stopped', by: task });
    });
  }

  destroy(id: string, { signal }: RuntimeCall): Promise<RuntimeResult> {
    return this.#serialize(async () => {
      if (signal.aborted) return CUT_SHORT;
      const namespace = this.#namespaceOf(id);
      if ((await this.#listNamespaces()).has(namespace)) await this.#remove(namespace);
      this.#records.remove(id);
      await this.#records.save();
      return RUNTIME_DONE;
    });
  }

  /** Namespaces of this host that no record explains. */
  async findStrays(): Promise<readonly string[]> {
    const prefix = instanceNamespace(this.#options.hostNamespace, '');
    const ids = [...(await this.#listNamespaces())].map((name) => name.slice(prefix.length));
    return ids.filter((id) => this.#records.get(id)?.state !== 'running').sort();
  }

  conditions(): Promise<readonly Condition[]> {
    return Promise.resolve([]);
  }

  /** Prefixes and gateways of what is plugged in from now on. */
  observeView({ subnets }: RuntimeView): Promise<void> {
    this.#subnets = subnets;
    this.#subnetsUpdated.abort('learnt');
    this.#subnetsUpdated = new AbortController();
    return Promise.resolve();
  }

  async #record(instance: RuntimeInstance): Promise<RuntimeResult> {
    this.#records.put(instance);
    await this.#records.save();
    return RUNTIME_DONE;
  }

  /** One at a time: they change the same interfaces of the host. */
  #serialize<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(work, work);
    this.#queue = result.catch(() => undefined);
    return result;
  }

  async #ensureRunning(instance: RuntimeInstance, there: ReadonlySet<string>): Promise<void> {
    const namespace = this.#namespaceOf(instance.id);
    if (!there.has(namespace)) await this.#create(namespace, instance);
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
  async #remove(namespace: string): Promise<void> {
    const { hostNamespace, plugs } = this.#options;
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

const NOTHING_THERE: ReadonlySet<string> = new Set();

function toInstance(
  spec: InstanceSpec,
  state: RuntimeInstance['state'],
  { task, ports }: RuntimeCall,
): RuntimeInstance {
  const { id, vcpus, memoryMiB, diskGiB, nics } = spec;
  return { id, state, vcpus, memoryMiB, diskGiB, nics, by: task, ...(ports.length > 0 && { ports }) };
}
