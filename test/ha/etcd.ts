// etcd on three machines. Members can be killed, lose their disk, and be taken up again, as docs/production.md has it.
import { execFile } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { MACHINES, type MachineName, type NamespaceNetwork } from './network.ts';
import { NamespacedProgram } from './program.ts';
import { waitFor } from './wait-for.ts';

export interface EtcdOptions {
  readonly network: NamespaceNetwork;
  readonly folder: string;
}

export interface EtcdStart {
  /** Who is a member, itself included, when it joins those that are there; all of a new cluster when nothing is said. */
  readonly joins?: readonly MachineName[];
  /** It forgets the other members and continues alone with what it has. */
  readonly forceNewCluster?: boolean;
}

export class Etcd {
  readonly #options: EtcdOptions;
  readonly #programs = new Map<MachineName, NamespacedProgram>();

  constructor(options: EtcdOptions) {
    this.#options = options;
  }

  start(machine: MachineName, { joins, forceNewCluster = false }: EtcdStart = {}): void {
    const { network, folder } = this.#options;
    const client = this.#clientUrl(machine);
    mkdirSync(join(folder, machine), { recursive: true, mode: 0o755 });
    const members = joins ?? MACHINES;
    const flags = {
      name: machine,
      'data-dir': this.#data(machine),
      'listen-peer-urls': this.#peerUrl(machine),
      'initial-advertise-peer-urls': this.#peerUrl(machine),
      'listen-client-urls': client,
      'advertise-client-urls': client,
      'initial-cluster': members.map((name) => `${name}=${this.#peerUrl(name)}`).join(','),
      'initial-cluster-state': joins === undefined ? 'new' : 'existing',
      'initial-cluster-token': 'muster',
      // Patroni speaks the older interface here: see the reference configuration.
      'enable-v2': 'true',
      'force-new-cluster': String(forceNewCluster),
    };
    const command = ['etcd', ...Object.entries(flags).map(([name, value]) => `--${name}=${value}`)] as const;
    const log = join(folder, machine, 'etcd.log');
    this.#programs.set(
      machine,
      new NamespacedProgram({ namespace: network.namespace(machine), command: [...command], log }),
    );
  }

  async stop(machine: MachineName, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    await this.#programs.get(machine)?.stop(signal);
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.#programs.values()].map((program) => program.stop()));
  }

  replaceDisk(machine: MachineName): void {
    rmSync(this.#data(machine), { recursive: true, force: true });
  }

  /** The members' names, as one of them says. One that was added and never started has none. */
  async members(through: MachineName): Promise<ReadonlyMap<string, string>> {
    const lines = (await this.#ctl(through, 'member', 'list')).trim().split('\n');
    return new Map(
      lines.map((line) => {
        const [id = '', , name = ''] = line.split(', ');
        return [name, id];
      }),
    );
  }

  /** Refused for some seconds after a member was lost or came. */
  async removeMember(through: MachineName, lost: MachineName): Promise<void> {
    const id = (await this.members(through)).get(lost);
    if (id === undefined) throw new Error(`${lost} is no member of etcd`);
    await this.#retried(through, 'member', 'remove', id);
  }

  async addMember(through: MachineName, added: MachineName): Promise<void> {
    await this.#retried(through, 'member', 'add', added, `--peer-urls=${this.#peerUrl(added)}`);
  }

  /** It answers by itself, and with a quorum of the others. */
  async isHealthy(machine: MachineName): Promise<void> {
    await this.#retried(machine, 'endpoint', 'health');
  }

  async #retried(through: MachineName, ...args: readonly string[]): Promise<void> {
    let said = '';
    await waitFor(`etcdctl ${args.join(' ')}`, async () => {
      try {
        await this.#ctl(through, ...args);
        return true;
      } catch (error) {
        // The last line is the reason; those before it have times.
        const { stderr = String(error) } = error as { readonly stderr?: string };
        const why = stderr.trim().split('\n').at(-1) ?? '';
        if (said !== why) process.stdout.write(`etcdctl ${args.join(' ')}: ${why}\n`);
        said = why;
        return undefined;
      }
    });
  }

  async #ctl(through: MachineName, ...args: readonly string[]): Promise<string> {
    const env = { PATH: process.env['PATH'], ETCDCTL_API: '3' };
    const { stdout } = await promisify(execFile)('etcdctl', ['--endpoints', this.#clientUrl(through), ...args], {
      env,
    });
    process.stdout.write(`$ etcdctl ${args.join(' ')}\n${stdout}`);
    return stdout;
  }

  #data(machine: MachineName): string {
    return join(this.#options.folder, machine, 'etcd');
  }

  #peerUrl(machine: MachineName): string {
    return `http://${this.#options.network.address(machine)}:2380`;
  }

  #clientUrl(machine: MachineName): string {
    return `http://${this.#options.network.address(machine)}:2379`;
  }
}
