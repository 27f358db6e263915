// Machines whose runtime fails a task, lose power, or get another version of the agent.
import type { HostMachine } from '../world/machine.ts';
import type { World } from '../world/world.ts';
import type { Fault } from './fault.ts';

function running(world: World): HostMachine[] {
  return world.machines.filter((machine) => machine.incarnation !== undefined);
}

const FAULTS_OF: Readonly<Record<(typeof TASKS)[number], readonly string[]>> = {
  build: ['spawn-failed', 'spawn-failed', 'resources-gone', 'bad-image'],
  destroy: ['busy'],
  prepare: ['resources-gone', 'migration-failed'],
  migrate: ['migration-failed'],
  activate: ['migration-failed'],
};
const TASKS = ['build', 'build', 'build', 'destroy', 'prepare', 'migrate', 'activate'] as const;

/** Before anything is done, or after it is done: then only the report is a failure. */
export const taskFails: Fault = {
  name: 'task-fails',
  weight: 10,
  strike: (world) => {
    const { rng, machines } = world;
    if (machines.length === 0) return undefined;
    const [machine, task] = [rng.pick(machines), rng.pick(TASKS)];
    const fault = rng.pick(FAULTS_OF[task]);
    const after = rng.chance(0.4);
    const delayMs = rng.pick([0, 0, 2000, 20_000]);
    machine.hypervisor.arm({ task, fault, problem: fault, after, delayMs, times: rng.between(1, 2) });
    return `${task} on ${machine.name}${after ? ', after it is done' : ''}`;
  },
};

export const machineDies: Fault = {
  name: 'machine-dies',
  weight: 4,
  strike: (world) => {
    const machines = running(world);
    if (machines.length === 0) return undefined;
    const machine = world.rng.pick(machines);
    machine.losePower();
    if (world.rng.chance(0.7)) {
      const afterMs = world.rng.between(2000, 90_000);
      world.scheduler.after(afterMs, `${machine.name} has power again`, () => machine.getPower());
    }
    return machine.name;
  },
};

/** A guest panics, or its process is killed. Its agent starts it again, once it knows that it should run there. */
export const instanceEnds: Fault = {
  name: 'instance-ends',
  weight: 3,
  strike: (world) => {
    // Nothing runs on a machine without power: what it has comes back with it.
    const all = world.machines.flatMap(({ name, hypervisor, powered }) =>
      (powered ? hypervisor.instances : []).flatMap(({ id, state }) =>
        state === 'running' ? [{ id, name, hypervisor }] : [],
      ),
    );
    if (all.length === 0) return undefined;
    const { id, name, hypervisor } = world.rng.pick(all);
    void hypervisor.end(id, world.scheduler.nowMs);
    return `${id} on ${name}`;
  },
};

/** Up or down. */
export const agentReplaced: Fault = {
  name: 'agent-replaced',
  weight: 3,
  strike: (world) => {
    if (world.machines.length === 0) return undefined;
    const [machine, version] = [world.rng.pick(world.machines), world.rng.between(1, 3)];
    machine.replaceAgent(version);
    return `${machine.name} by version ${version}`;
  },
};

export const allUpgraded: Fault = {
  name: 'all-upgraded',
  weight: 2,
  strike: (world) => {
    const version = world.rng.between(2, 3);
    for (const machine of world.machines) machine.replaceAgent(version);
    return `to version ${version}`;
  },
};

export const credentialsLost: Fault = {
  name: 'credentials-lost',
  weight: 2,
  strike: (world) => {
    const server = world.rng.pick(world.servers);
    if (!server.hasCredentials) return undefined;
    server.hasCredentials = false;
    const forMs = world.rng.between(5000, 40_000);
    world.scheduler.after(forMs, `${server.name} has its credentials again`, () => (server.hasCredentials = true));
    return server.name;
  },
};
