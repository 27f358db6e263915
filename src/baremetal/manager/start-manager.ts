// A manager as a program of its own, or as a part of a server: over HTTP either way. Which machines it drives beside the simulated ones is the
// caller's choice.
import type { Clock } from '../../journal/index.ts';
import { LeaderClient } from '../../link/index.ts';
import { ReplyClient } from '../../link/runtime.ts';
import type { Log } from '../../operations/index.ts';
import type { MachineDriver } from '../drivers/inventory.ts';
import { SimulatedMachines } from '../drivers/simulated/machine-driver.ts';
import type { InventoryName } from '../model.ts';
import { HttpManagerLink, type ManagerLinkOptions } from './http-link.ts';
import { HttpMachineLink } from './machine-link.ts';
import { PauseGate, pausableClock, pausableLink, pausableMachineLink, pausableMachines } from './pause-gate.ts';
import type { ManagerOptions } from './ports.ts';
import { ManagerProgram } from './program.ts';

export interface StartManagerOptions extends ManagerOptions, ManagerLinkOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly machines?: readonly MachineDriver[];
  /** Halts it while it is closed. */
  readonly pauseGate?: PauseGate;
}

export interface RunningManager {
  /** Whether it holds its lease, by its own clock. */
  readonly mayAct: () => boolean;
  /** Resolves when it has stopped; rejects when it could not continue. */
  readonly ended: Promise<void>;
  /** Stops cleanly: its lease is released, and others take over at once. */
  stop(): Promise<void>;
}

const MACHINE_TIMEOUT_MS = 5000;

export function startManager(options: StartManagerOptions): RunningManager {
  const { random, log, machines = [], servers, token, pauseGate = new PauseGate() } = options;
  const clock = pausableClock(options.clock, pauseGate);
  const link = new HttpManagerLink(options);
  const client = new ReplyClient({ ...options, timeoutMs: MACHINE_TIMEOUT_MS });
  const toMachines = new HttpMachineLink({ leader: new LeaderClient(servers, log), client, token });
  const simulated = new SimulatedMachines({ link: pausableMachineLink(toMachines, pauseGate), clock });
  const drivers = [simulated, ...machines.map((driver) => pausableMachines(driver, pauseGate))];
  const byName = new Map<InventoryName, MachineDriver>(drivers.map((driver) => [driver.name, driver]));
  const ports = { link: pausableLink(link, pauseGate), clock, random, log, drivers: byName };
  const program = new ManagerProgram(ports, options);
  const stopping = new AbortController();
  const ended = program.run(stopping.signal).finally(() => {
    stopping.abort();
    link.close();
    client.close();
  });
  return {
    mayAct: () => program.mayAct,
    ended,
    stop: async () => {
      pauseGate.resume();
      stopping.abort();
      await ended;
    },
  };
}
