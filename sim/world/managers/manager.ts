// A manager of bare-metal nodes: its program is the real one, in a process of its own or inside a server. It is started, dies, is paused and wakes with
// what it remembers.
import { isPaused } from '../../../src/baremetal/index.ts';
import { SimulatedMachines } from '../../../src/baremetal/drivers/simulated/machine-driver.ts';
import type { MachineCall, MachineDriver } from '../../../src/baremetal/drivers/inventory.ts';
import {
  PauseGate,
  pausableClock,
  pausableLink,
  pausableMachineLink,
} from '../../../src/baremetal/manager/pause-gate.ts';
import type { ManagerProgram } from '../../../src/baremetal/manager/program.ts';
import { LeaderClient } from '../../../src/link/index.ts';
import { SimClock } from '../../kernel/clock.ts';
import { Program } from '../../kernel/program.ts';
import type { Rng } from '../../kernel/rng.ts';
import type { Link } from '../link.ts';
import { logInto, type Incarnation, type Server } from '../server.ts';
import type { World } from '../world.ts';
import { actPlan, SimManagerCalls, SimMachineLink, simManagerLink } from './manager-link.ts';

export interface SimManagerOptions {
  readonly name: string;
  /** The server that it runs in; a process of its own when absent. */
  readonly embeddedIn?: Server | undefined;
  readonly site?: string | undefined;
  /** Between servers. */
  readonly between: Link;
}

interface ManagerIncarnation {
  readonly program: Program;
  readonly manager: ManagerProgram;
  readonly stopping: AbortController;
  readonly ended: Promise<void>;
}

const DAY_MS = 24 * 3600 * 1000;
const MEMORY_MAX = 30;

export class SimManager {
  readonly name: string;
  readonly link: Link;
  readonly embeddedIn: Server | undefined;
  readonly #options: SimManagerOptions;
  readonly #world: World;
  readonly #rng: Rng;
  /** The calls to machines that its processes made, the last ones at the end. */
  readonly memory: MachineCall[] = [];
  /** Its process is halted for so long as soon as it looks at a machine: it wakes with what the machine showed before. */
  haltsAtLookMs: number | undefined;
  /** Its process has ended for good. */
  isRetired = false;
  #starts = 0;
  #incarnation: ManagerIncarnation | undefined;

  constructor(world: World, options: SimManagerOptions) {
    this.name = options.name;
    this.embeddedIn = options.embeddedIn;
    this.#options = options;
    this.#world = world;
    this.link = world.newLink();
    this.#rng = world.rng.fork();
  }

  /** The running process; undefined while there is none. */
  get incarnation(): ManagerIncarnation | undefined {
    const { program } = this.#incarnation ?? {};
    return program?.alive === true ? this.#incarnation : undefined;
  }

  remember(call: MachineCall): void {
    this.memory.push(call);
    if (this.memory.length > MEMORY_MAX) this.memory.shift();
  }

  noteLook(): void {
    if (this.haltsAtLookMs !== undefined) this.incarnation?.program.pause(this.haltsAtLookMs);
    this.haltsAtLookMs = undefined;
  }

  /** Sends a call to a machine past its program, which would not: its result is reported to no one. */
  callMachine(call: MachineCall): void {
    const { scheduler, calls: counter, rng, servers } = this.#world;
    const program = new Program(`${this.name} from memory`, scheduler, counter);
    const calls = new SimManagerCalls({ world: this.#world, program, link: this.link, between: this.#options.between });
    void calls
      .call({ server: rng.pick(servers).url, secret: 'token' }, actPlan(this.#world, call))
      .catch(() => undefined);
  }

  /** Starts a process of its own; one inside a server starts with that. */
  start(): void {
    if (this.embeddedIn !== undefined || this.incarnation !== undefined || this.isRetired) return;
    const { scheduler, calls } = this.#world;
    const program = new Program(`${this.name}.${this.#starts + 1}`, scheduler, calls);
    // Its clock is monotonic: what it shows means nothing to others.
    program.skewMs = this.#rng.between(-DAY_MS, DAY_MS);
    this.#run(program, { servers: this.#world.servers.map(({ url }) => url), gate: new PauseGate() });
  }

  startIn(life: Incarnation): void {
    const gate = new PauseGate();
    const holder = this.#run(life.program, { servers: [life.url], gate, stop: life.stop.signal });
    const follow = (): void => {
      if (isPaused(life.journal.fleet, this.name, holder)) gate.pause();
      else gate.resume();
    };
    life.journal.onCommit(follow);
    life.journal.onRebuilt(follow);
  }

  #run(
    program: Program,
    {
      servers,
      gate,
      stop,
    }: { readonly servers: readonly string[]; readonly gate: PauseGate; readonly stop?: AbortSignal },
  ): string {
    this.#starts += 1;
    const world = this.#world;
    const { between, site } = this.#options;
    const holder = `${this.name}-process-${this.#starts}`;
    const log = logInto(world, `${this.name}.${this.#starts}`);
    const clock = pausableClock(new SimClock(program), gate);
    const calls = new SimManagerCalls({ world, program, link: this.link, between });
    const machineLink = new SimMachineLink({ calls, leader: new LeaderClient(servers, log), world, manager: this });
    const machines = new SimulatedMachines({ link: pausableMachineLink(machineLink, gate), clock });
    const rng = this.#rng.fork();
    const ports = {
      link: pausableLink(simManagerLink(calls, world), gate),
      clock,
      random: () => rng.below(1000) / 1000,
      log,
      drivers: new Map<'simulated', MachineDriver>([['simulated', machines]]),
    };
    const manager = world.parts.manager(ports, {
      ...{ name: this.name, version: '1', holder, servers, token: () => 'token' },
      ...(site !== undefined && { site }),
      isEmbedded: this.embeddedIn !== undefined,
    });
    const stopping = new AbortController();
    stop?.addEventListener('abort', () => stopping.abort(), { once: true });
    const ended = manager.run(stopping.signal).catch((error: unknown) => {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      world.violate('a manager never stops by itself', `${program.name}: ${text}`);
    });
    this.#incarnation = { program, manager, stopping, ended };
    return holder;
  }

  crash(): void {
    if (this.embeddedIn === undefined) this.#incarnation?.program.crash();
    this.#incarnation = undefined;
  }

  /** It runs, and wakes if it was paused. */
  heal(): void {
    this.haltsAtLookMs = undefined;
    if (this.incarnation?.program.paused === true) this.incarnation.program.pause(0);
    this.start();
  }

  /** Stops as an operator stops it: its lease is released. */
  async stop(): Promise<void> {
    const running = this.incarnation;
    if (running === undefined) return;
    running.stopping.abort();
    await running.ended;
    if (this.#incarnation === running) this.crash();
  }

  retire(isClean: boolean): void {
    this.isRetired = true;
    if (isClean) void this.stop();
    else this.crash();
  }
}
