// Three machines as network namespaces with a bridge between them, and an address for the test itself. A machine can be
// cut off without a word, as when its cable is pulled. Everything is named after this process and taken away at the end.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

export const MACHINES = ['m1', 'm2', 'm3'] as const;
export type MachineName = (typeof MACHINES)[number];

function ip(...args: readonly string[]): string {
  return execFileSync('ip', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

const NAMESPACE = /^mh([0-9a-z]+)-(?:m1|m2|m3|sw)$/;

/** A run that was killed leaves its namespaces and what runs in them: no other program made either. */
function cleanDeadRuns(): void {
  const names = ip('netns', 'list')
    .split('\n')
    .map((line) => line.split(' ')[0] ?? '');
  for (const name of names) {
    const [, owner] = NAMESPACE.exec(name) ?? [];
    if (owner === undefined || isAlive(Number.parseInt(owner, 36))) continue;
    for (const pid of ip('netns', 'pids', name)
      .split('\n')
      .filter((line) => line !== ''))
      signal(Number(pid), 'SIGKILL');
    ip('netns', 'delete', name);
  }
}

function isAlive(pid: number): boolean {
  return existsSync(`/proc/${pid}`);
}

/** A process may have ended since it was listed. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

export class NamespaceNetwork {
  readonly #prefix = `mh${process.pid.toString(36)}`;
  readonly #subnet = `10.213.${process.pid % 250}`;

  constructor() {
    cleanDeadRuns();
    ip('netns', 'add', this.#switch);
    try {
      this.#connect();
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** All machines, and the test. */
  get cidr(): string {
    return `${this.#subnet}.0/24`;
  }

  namespace(machine: MachineName): string {
    return `${this.#prefix}-${machine}`;
  }

  address(machine: MachineName): string {
    return `${this.#subnet}.${MACHINES.indexOf(machine) + 1}`;
  }

  isolate(machine: MachineName): void {
    ip('-n', this.#switch, 'link', 'set', this.#link(machine), 'down');
  }

  heal(machine: MachineName): void {
    ip('-n', this.#switch, 'link', 'set', this.#link(machine), 'up');
  }

  /** Process ids of everything that runs on a machine. */
  processes(machine: MachineName): readonly number[] {
    return ip('netns', 'pids', this.namespace(machine))
      .split('\n')
      .filter((line) => line !== '')
      .map(Number);
  }

  close(): void {
    for (const name of [...MACHINES.map((machine) => this.namespace(machine)), this.#switch]) {
      try {
        ip('netns', 'delete', name);
      } catch {
        // It was never made.
      }
    }
  }

  get #switch(): string {
    return `${this.#prefix}-sw`;
  }

  #link(machine: MachineName): string {
    return `${this.#prefix}${machine}`;
  }

  #connect(): void {
    const bridge = this.#switch;
    ip('-n', bridge, 'link', 'add', 'br0', 'type', 'bridge');
    ip('-n', bridge, 'link', 'set', 'br0', 'up');
    for (const machine of MACHINES) {
      const space = this.namespace(machine);
      ip('netns', 'add', space);
      ip('link', 'add', this.#link(machine), 'netns', bridge, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', space);
      ip('-n', bridge, 'link', 'set', this.#link(machine), 'master', 'br0', 'up');
      ip('-n', space, 'address', 'add', `${this.address(machine)}/24`, 'dev', 'eth0');
      ip('-n', space, 'link', 'set', 'eth0', 'up');
      ip('-n', space, 'link', 'set', 'lo', 'up');
    }
    const own = `${this.#prefix}t`;
    ip('link', 'add', own, 'type', 'veth', 'peer', 'name', `${own}s`, 'netns', bridge);
    ip('-n', bridge, 'link', 'set', `${own}s`, 'master', 'br0', 'up');
    ip('address', 'add', `${this.#subnet}.254/24`, 'dev', own);
    ip('link', 'set', own, 'up');
  }
}
