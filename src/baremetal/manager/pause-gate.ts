// Halts a manager that runs inside a server, as SIGSTOP halts a process: nothing that it awaits comes to it, and nothing that it begins goes out. It must
// not notify the manager: one that wakes acts on what it has in memory, and finds out by its own clock and by the control plane's refusals.
import type { Clock } from '../../journal/index.ts';
import type { MachineDriver } from '../drivers/inventory.ts';
import type { MachineLink } from '../drivers/simulated/machine-driver.ts';
import type { ManagerLink } from './ports.ts';

export class PauseGate {
  #opening: PromiseWithResolvers<undefined> | undefined;

  pause(): void {
    this.#opening ??= Promise.withResolvers<undefined>();
  }

  resume(): void {
    this.#opening?.resolve(undefined);
    this.#opening = undefined;
  }

  /** What is under way at the other end continues there; its answer comes when the manager is awake. */
  async pass<T>(call: () => Promise<T>): Promise<T> {
    await this.#waitUntilOpen();
    try {
      return await call();
    } finally {
      await this.#waitUntilOpen();
    }
  }

  async #waitUntilOpen(): Promise<void> {
    while (this.#opening !== undefined) await this.#opening.promise;
  }
}

/** Time passes for it meanwhile, as for a halted process. */
export function pausableClock(clock: Clock, gate: PauseGate): Clock {
  return {
    nowMs: () => clock.nowMs(),
    sleep: (ms, signal) => gate.pass(() => clock.sleep(ms, signal)),
    turn: () => gate.pass(() => clock.turn()),
  };
}

export function pausableLink(link: ManagerLink, gate: PauseGate): ManagerLink {
  return {
    register: (...call) => gate.pass(() => link.register(...call)),
    renew: (...call) => gate.pass(() => link.renew(...call)),
    release: (...call) => gate.pass(() => link.release(...call)),
    acquire: (...call) => gate.pass(() => link.acquire(...call)),
    tasks: (...call) => gate.pass(() => link.tasks(...call)),
    answer: (...call) => gate.pass(() => link.answer(...call)),
    reserve: (...call) => gate.pass(() => link.reserve(...call)),
  };
}

export function pausableMachineLink(link: MachineLink, gate: PauseGate): MachineLink {
  return {
    act: (...call) => gate.pass(() => link.act(...call)),
    inspect: (...call) => gate.pass(() => link.inspect(...call)),
  };
}

export function pausableMachines(driver: MachineDriver, gate: PauseGate): MachineDriver {
  return {
    name: driver.name,
    inspect: (...call) => gate.pass(() => driver.inspect(...call)),
    carryOut: (...call) => gate.pass(() => driver.carryOut(...call)),
  };
}
