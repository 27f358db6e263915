// Ports whose n-th call is the last thing that the agent does: before it has an effect, or after it had one and before
// the agent has the result. From then on nothing settles, as in a program that is dead.
import type { Clock } from '../../journal/index.ts';
import type { AgentPorts, Disk, FileName, AgentLink, LocalDriver } from './ports.ts';

export interface Crash {
  readonly at: number;
  readonly effect: 'before' | 'after';
}

const NOTHING_IMPORTED = { imported: 0, present: 0, failed: 0 };

const { promise: NEVER } = Promise.withResolvers<never>();

export class CrashingPorts {
  readonly calls: string[] = [];
  readonly #crash: Crash | undefined;
  #hasCrashed = false;

  constructor(crash?: Crash) {
    this.#crash = crash;
  }

  get hasCrashed(): boolean {
    return this.#hasCrashed;
  }

  wrap(ports: Pick<AgentPorts, 'link' | 'disk' | 'driver' | 'clock'>): typeof ports {
    return {
      link: this.#link(ports.link),
      disk: this.#disk(ports.disk),
      driver: this.#driver(ports.driver),
      clock: this.#clock(ports.clock),
    };
  }

  #link(link: AgentLink): AgentLink {
    return {
      isAuthenticated: (server) => link.isAuthenticated(server),
      join: (...args) => this.#call('link.join', () => link.join(...args)),
      heartbeat: (...args) => this.#call('link.heartbeat', () => link.heartbeat(...args)),
      view: (...args) => this.#call('link.view', () => link.view(...args)),
      observe: (...args) => this.#call('link.observe', () => link.observe(...args)),
      deposit: (...args) => this.#call('link.deposit', () => link.deposit(...args)),
      collect: (...args) => this.#call('link.collect', () => link.collect(...args)),
    };
  }

  #disk(disk: Disk): Disk {
    return {
      read: (name: FileName) => this.#call(`disk.read ${name}`, () => disk.read(name)),
      write: (name: FileName, ...text) => this.#call(`disk.write ${name}`, () => disk.write(name, ...text)),
    };
  }

  #driver(driver: LocalDriver): LocalDriver {
    return {
      apply: (...args) => this.#call('driver.apply', () => driver.apply(...args)),
      perform: (...args) => this.#call('driver.perform', () => driver.perform(...args)),
      hasConverged: (...args) =>
        this.#call('driver.hasConverged', async () => (await driver.hasConverged?.(...args)) ?? true),
      inspect: () => this.#call('driver.inspect', () => driver.inspect()),
      listConnections: (...args) =>
        this.#call('driver.connectionsOf', async () => (await driver.listConnections?.(...args)) ?? []),
      importConnections: (...args) =>
        this.#call('driver.takeOver', async () => (await driver.importConnections?.(...args)) ?? NOTHING_IMPORTED),
      forgetConnections: (...args) =>
        this.#call('driver.forgetConnections', async () => driver.forgetConnections?.(...args)),
    };
  }

  #clock(clock: Clock): Clock {
    return {
      nowMs: () => clock.nowMs(),
      sleep: (...args) => this.#call('clock.sleep', () => clock.sleep(...args)),
      turn: () => this.#call('clock.turn', () => clock.turn()),
    };
  }

  async #call<T>(name: string, call: () => Promise<T>): Promise<T> {
    if (this.#hasCrashed) return NEVER;
    this.calls.push(name);
    const last = this.calls.length === this.#crash?.at;
    if (last) this.#hasCrashed = true;
    if (last && this.#crash.effect === 'before') return NEVER;
    const result = await call();
    // Another call may have been the last one meanwhile.
    return this.#hasCrashed ? NEVER : result;
  }
}
