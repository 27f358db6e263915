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
import type { ManagerOptions } from './ports.ts';
import { ManagerProgram } from './program.ts';

export interface StartManagerOptions extends ManagerOptions, ManagerLinkOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly machines?: readonly MachineDriver[];
}

export interface RunningManager {
  /** Whether it holds its lease, by its own clock. */
  readonly mayAct: () => boolean;
  /** Resolves when it has stopped; rejects when it could not go on. */
  readonly ended: Promise<void>;
  /** Stops cleanly: its lease is released, and others take over at once. */
  stop(): Promise<void>;
}

const MACHINE_TIMEOUT_MS = 5000;

export function startManager(options: StartManagerOptions): RunningManager {
  const { clock, random, log, machines = [], servers, token } = options;
  const link = new HttpManagerLink(options);
  const client = new ReplyClient({ ...options, timeoutMs: MACHINE_TIMEOUT_MS });
  const toMachines = new HttpMachineLink({ leader: new LeaderClient(servers, log), client, token });
  const drivers = [new SimulatedMachines({ link: toMachines, clock }), ...machines];
  const byName = new Map<InventoryName, MachineDriver>(drivers.map((driver) => [driver.name, driver]));
  const program = new ManagerProgram({ link, clock, random, log, drivers: byName }, options);
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
      stopping.abort();
      await ended;
    },
  };
}
