// What a machine does for its agent. Instances are run by the simulated machine that ships with the product, on a hypervisor that outlives
// agents; everything else is only recorded here.
import type { View } from '../../src/agent/index.ts';
import {
  SimulatedNodeDriver,
  SimulatedHypervisor,
  type ApplyResult,
  type LocalDriver,
  type SimulatedNodeOptions,
} from '../../src/agent/runtime.ts';
import { compile, readDataplaneView } from '../../src/dataplane/index.ts';
import { HOST, type Host } from '../../src/hosts/index.ts';
import type { Task, TaskResult } from '../../src/operations/index.ts';
import { SimClock } from '../kernel/clock.ts';
import type { Program } from '../kernel/program.ts';
import type { Rng } from '../kernel/rng.ts';
import type { HostMachine } from './machine.ts';
import { HostNetworkPort } from './network-port.ts';
import type { World } from './world.ts';

/** A hypervisor that says when what it runs is another. */
export class WatchedHypervisor extends SimulatedHypervisor {
  readonly #changed: () => void;

  constructor(rng: Rng, peer: (host: string) => SimulatedHypervisor | undefined, changed: () => void) {
    const take = (ms: number) => (): number => rng.between(1, ms);
    super({
      peer,
      durations: {
        build: take(4000),
        destroy: take(1500),
        prepare: take(1000),
        migrate: take(4000),
        activate: take(500),
      },
    });
    this.#changed = changed;
  }

  override put(...args: Parameters<SimulatedHypervisor['put']>): void {
    super.put(...args);
    this.#changed();
  }

  override remove(id: string): void {
    super.remove(id);
    this.#changed();
  }
}

/** The host that serves a NAT service has connections of it: here one for each time that it began to serve. */
function trackTranslations({ name, switch: its }: HostMachine, { parts }: View): void {
  const shown = readDataplaneView(name, parts);
  const doing = shown?.services.filter(({ type, role }) => type === 'nat' && role === 'designated') ?? [];
  if (shown === undefined || doing.length === 0) return;
  const { zones } = compile(shown);
  for (const { id, epoch } of doing) {
    const natSource = { ip: '198.51.100.1', port: epoch % 60_000 };
    const ends = { src: '10.0.0.1', sport: epoch % 60_000, dst: '203.0.113.1', dport: 53, natSource };
    its.track(zones.get(id) ?? 0, [{ protocol: 'udp', ...ends }]);
  }
}

/** What it must never do, unless it is forced. */
export const LEFT_WITH_STRAYS = 'never: a host leaves with something that the fleet does not know';

export interface DriverParts {
  readonly world: World;
  readonly machine: HostMachine;
  readonly program: Program;
  readonly rng: Rng;
  /** Called for every command to the machine. */
  readonly follow: (stamp: View['stamp'], what: string, text: string) => void;
}

function preflightOf({ passesPreflight }: HostMachine): TaskResult {
  return passesPreflight ? { outcome: 'done' } : { outcome: 'failed', problems: ['no virtualisation extensions'] };
}

function unpreparableServices({ unpreparable }: HostMachine): Pick<SimulatedNodeOptions, 'prepareFailureOf'> {
  return { prepareFailureOf: (service) => (unpreparable.has(service) ? 'its next hop does not answer' : undefined) };
}

/** A host that leaves with strays must have been forced to. */
async function checkLeave(
  { world, machine }: Pick<DriverParts, 'world' | 'machine'>,
  { kind, id, args }: Task,
  perform: () => Promise<TaskResult>,
): Promise<TaskResult> {
  const [stray] = machine.switch.foreignInterfaces;
  const performed = await perform();
  const isLeave = kind === 'leave' && id !== 'removed' && performed.outcome === 'done';
  // Its end may have been taken back since, by a recover that its agent has not seen yet.
  const isForced = args['force'] === true && wasForced(world, machine.name);
  if (isLeave && stray !== undefined && !isForced)
    world.violate(LEFT_WITH_STRAYS, `${machine.name} left with ${stray} on its bridge`);
  return performed;
}

function wasForced({ ledger }: World, host: string): boolean {
  return ledger.entries.some(({ changes }) =>
    changes.some(
      (change) =>
        change.kind === HOST.name && change.id === host && (change.doc as Host | null)?.leaving?.forced !== undefined,
    ),
  );
}

interface DriverCalls {
  readonly program: Program;
  readonly simulated: SimulatedNodeDriver;
  readonly call: <T>(what: string, longestMs: number, ask: () => Promise<T>) => Promise<T>;
}

/** Most of the time there is none, and no call is made. */
function endedInstances({
  program,
  simulated,
  call,
}: DriverCalls): Pick<LocalDriver, 'onInstanceEnded' | 'startEnded'> {
  return {
    onInstanceEnded: (listener) => simulated.onInstanceEnded(() => program.alive && listener()),
    startEnded: (view, signal) =>
      simulated.hypervisor.instances.some(({ state }) => state === 'ended')
        ? call('start what ended', 500, () => simulated.startEnded(view, signal))
        : Promise.resolve(undefined),
  };
}

export function machineDriver({ world, machine, program, rng, follow }: DriverParts): LocalDriver {
  const clock = new SimClock(program);
  const { hypervisor } = machine;
  const network = new HostNetworkPort(world, program);
  const options = {
    ...{ clock, hypervisor, network, switch: machine.switch, modules: world.parts.nodeModules },
    ...unpreparableServices(machine),
  };
  const simulated = new SimulatedNodeDriver(options);
  const call = <T>(what: string, longestMs: number, ask: () => Promise<T>): Promise<T> =>
    program.call<T>('driver', what, (reply) => {
      void ask().then(
        (found) => void reply.answer(rng.between(1, longestMs), found),
        (error: unknown) => void reply.fail(1, error instanceof Error ? error : new Error(String(error))),
      );
    });
  return {
    apply: (view, signal) =>
      program.call<ApplyResult>('driver', 'apply', (reply) => {
        follow(view.stamp, 'view', view.digest);
        const already = machine.convergedDigest === view.digest;
        machine.convergedDigest = view.digest;
        // It is done at once: its duration is in the delay of the answer.
        const kind = already ? 'already' : 'applied';
        const ms = rng.between(1, 50);
        void simulated.apply(view, signal).then((applied) => {
          if (applied.kind !== 'failed' && readDataplaneView(view.host, view.parts) !== undefined) {
            machine.view = view;
            trackTranslations(machine, view);
          }
          return void reply.answer(ms, applied.kind === 'failed' ? applied : { ...applied, kind });
        });
      }),
    hasConverged: (view) =>
      program.call<boolean>('driver', 'isInLine', (reply) => {
        const ms = rng.between(1, 50);
        void simulated.hasConverged(view).then((hasConverged) => void reply.answer(ms, hasConverged));
      }),
    onChanged: (changed) => simulated.onChanged(changed),
    perform: (task: Task, fence) =>
      program.call<TaskResult>('driver', `perform ${task.kind}`, (reply) => {
        follow(fence.stamp, task.id, task.id);
        if (task.kind === 'preflight') reply.answer(rng.between(1, 3000), preflightOf(machine));
        else {
          const done = checkLeave({ world, machine }, task, () => simulated.perform(task, fence));
          void done.then(
            // The agent may die before it can answer.
            (performed) => void reply.answer(rng.between(1, 1500), performed),
            (error: unknown) => void reply.fail(1, error instanceof Error ? error : new Error(String(error))),
          );
        }
      }),
    ...endedInstances({ program, simulated, call }),
    ...(machine.hasBfd && { bfdDownPeers: () => simulated.bfdDownPeers() }),
    listConnections: (service) => call('connections', 20, () => simulated.listConnections(service)),
    importConnections: (service, connections) =>
      call('take over', 50, () => simulated.importConnections(service, connections)),
    forgetConnections: (service) => call('forget connections', 5, () => simulated.forgetConnections(service)),
    conditions: () => call('conditions', 20, () => simulated.conditions()),
    inspect: () => call('inspect', 1, async () => ({ ...(await simulated.inspect()), facts: { cpus: 8 } })),
  };
}
