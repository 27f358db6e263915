// Muster in the lab: a real server, and a real agent for each host, as an operator starts them.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { freePort } from '../../test/free-port.ts';
import { runConcurrently } from '../run-concurrently.ts';
import { run } from '../command.ts';
import type { Daemon, LabHost } from '../underlay/host.ts';
import { EXTERNAL_INTERFACE, type HostNames } from '../underlay/names.ts';
import type { Underlay } from '../underlay/underlay.ts';
import { LabClient } from './client.ts';
import { LabProgram } from './program.ts';

const ENTRY = resolve(import.meta.dirname, '../../bin/muster.js');
const LOOK_MS = 50;
const READY_PATIENCE_MS = 60_000;
/** An agent starts in half a second of one core. */
const AGENTS_AT_ONCE = 2;
/** More than the instances of any scenario need. */
const CAPACITY = { vcpus: 64, memoryMiB: 1 << 18, diskGiB: 4096 };

export interface MusterOptions {
  readonly say?: (line: string) => void;
  readonly signal?: AbortSignal;
  /** Agents that only pretend to have a machine: for trying out the lab itself. */
  readonly simulate?: boolean;
}

/** What can be killed and started: the server, or one of these of a host. */
export type LabPart = 'server' | { readonly host: number; readonly part: 'agent' | Daemon };

interface HostRepresentation {
  readonly state: string;
  readonly connection?: { readonly state: string };
}

export class Muster {
  readonly url: string;
  readonly data: string;
  readonly #underlay: Underlay;
  readonly #options: MusterOptions;
  readonly #server: LabProgram;
  readonly #agents = new Map<number, LabProgram>();
  #client: LabClient | undefined;

  private constructor(underlay: Underlay, port: number, options: MusterOptions) {
    const { folder } = underlay.names;
    this.#underlay = underlay;
    this.#options = options;
    this.url = `http://127.0.0.1:${port}`;
    this.data = join(folder, 'data');
    const listen = ['--data', this.data, '--listen', `127.0.0.1:${port}`, '--log-level', 'warn'];
    this.#server = new LabProgram({
      name: 'server',
      command: musterCommand('serve', ...listen),
      log: join(folder, 'server.log'),
    });
  }

  static async start(underlay: Underlay, options: MusterOptions = {}): Promise<Muster> {
    const muster = new Muster(underlay, await freePort(), options);
    await muster.start('server');
    await muster.join(underlay.hosts);
    return muster;
  }

  /** The API; answers once the server has made its first token. */
  get client(): LabClient {
    if (this.#client === undefined) throw new Error('the server has not started yet');
    return this.#client;
  }

  /** Brings hosts into service: registers them, starts their agents, and resolves when they are active. */
  async join(hosts: readonly LabHost[]): Promise<void> {
    const { signal, say } = this.#options;
    const specs = hosts.map(({ names }) => ({
      name: names.name,
      tunnelAddress: names.tunnelAddress,
      capacity: CAPACITY,
    }));
    await this.client.post('/hosts', { hosts: specs });
    await runConcurrently(hosts, AGENTS_AT_ONCE, async ({ names }) => {
      signal?.throwIfAborted();
      await this.#startAgent(names);
    });
    for (const { names } of hosts) await this.untilUp(names.number);
    say?.(`${hosts.length} agents are in service`);
  }

  /** Resolves when the host is active and its agent is connected. */
  async untilUp(number: number): Promise<void> {
    const { name } = this.#underlay.host(number).names;
    const agent = this.#agents.get(number);
    await this.#until(`${name} is not in service`, agent, async () => {
      const { state, connection } = (await this.client.get(`/hosts/${name}`)) as HostRepresentation;
      return state === 'active' && connection?.state === 'up';
    });
  }

  /** The command line against this server: what it printed. */
  muster(...args: readonly string[]): Promise<string> {
    return run([...musterCommand(), '--server', this.url, '--data', this.data, ...args]);
  }

  async kill(part: LabPart, signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    if (part !== 'server' && part.part !== 'agent') await this.#underlay.host(part.host).kill(part.part, signal);
    else await this.#program(part).kill(signal);
  }

  /** The agent of a host follows nothing while this lasts. */
  async pauseAgentDuring(host: number, lasting: () => Promise<void>): Promise<void> {
    const agent = this.#program({ host, part: 'agent' });
    agent.pause();
    try {
      await lasting();
    } finally {
      agent.resume();
    }
  }

  /** Starts what was killed; the server and the daemons of a switch answer when this resolves. */
  async start(part: LabPart): Promise<void> {
    if (part !== 'server' && part.part !== 'agent') {
      await this.#underlay.host(part.host).start(part.part);
      return;
    }
    await this.#program(part).start();
    if (part === 'server') await this.#untilReady();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#agents.values(), this.#server].map((program) => program.kill()));
  }

  #program(part: LabPart): LabProgram {
    const program = part === 'server' ? this.#server : this.#agents.get(part.host);
    if (program === undefined) throw new Error('that host has no agent');
    return program;
  }

  async #startAgent(names: HostNames): Promise<void> {
    const state = join(names.folder, 'agent');
    const tokenFile = join(names.folder, 'join-token');
    await mkdir(state, { recursive: true });
    const { secret } = (await this.client.post(`/hosts/${names.name}/join-token`)) as { readonly secret: string };
    await writeFile(tokenFile, secret, { mode: 0o600 });
    const machine = this.#options.simulate === true ? ['--simulate'] : machineOptions(names);
    const args = ['--server', this.url, '--state', state, '--join-token-file', tokenFile, ...machine];
    const agent = new LabProgram({
      name: `agent ${names.number}`,
      command: musterCommand('agent', ...args),
      log: join(names.folder, 'agent.log'),
    });
    this.#agents.set(names.number, agent);
    await agent.start();
  }

  /** It answers that it is ready before it has written its first token. */
  async #untilReady(): Promise<void> {
    await this.#until('the server does not answer', this.#server, async () => {
      const answer = await fetch(`${this.url}/readyz`).catch(() => undefined); // the server does not listen yet
      await answer?.arrayBuffer();
      const token = await readFile(join(this.data, 'admin-token'), 'utf8').catch(() => '');
      if (answer?.ok !== true || token === '') return false;
      this.#client = new LabClient(this.url, token.trim());
      return true;
    });
  }

  async #until(complaint: string, program: LabProgram | undefined, holds: () => Promise<boolean>): Promise<void> {
    const deadlineMs = performance.now() + READY_PATIENCE_MS;
    while (!(await holds())) {
      this.#options.signal?.throwIfAborted();
      const over = performance.now() > deadlineMs;
      if (over || program?.isRunning === false) throw new Error(`${complaint}: ${await program?.tailLog()}`);
      await setTimeout(LOOK_MS);
    }
  }
}

function musterCommand(...args: readonly string[]): string[] {
  return [process.execPath, ENTRY, ...args];
}

/** The control socket is said, because in the lab it has the same name after every start of the switch. */
function machineOptions({ database, control, namespace }: HostNames): string[] {
  const ovs = ['--ovs', database, '--ovs-control', `unix:${control}`, '--datapath', 'netdev'];
  return [...ovs, '--external', EXTERNAL_INTERFACE, '--netns', namespace];
}
