// Hosts that leave and come back under load: batches of them are taken out of service, removed, brought back and joined again, in any
// order, while instances, ports, routers and services come and go and everything fails now and then.
import { ELECTION } from '../../src/election/index.ts';
import { idOf, valueOf } from '../../src/fleet/index.ts';
import { HOST } from '../../src/hosts/index.ts';
import { scaleOut } from '../../src/hosts/join/scale-out.ts';
import { OPERATION } from '../../src/operations/index.ts';
import type { OperatorCommand, Operator } from '../world/operator.ts';
import type { World } from '../world/world.ts';
import { plain } from './commands.ts';
import { InstanceActions } from './instance-actions.ts';
import { ScaleInActions } from './scale-in-actions.ts';
import { checkScaleInAtRest } from './scale-in-at-rest.ts';
import { removeEverything, leftoverHosts } from './scale-in-cleanup.ts';
import { ScaleInSetup, changeSettingTo } from './scale-in-setup.ts';
import { ServiceActions } from './service-actions.ts';
import type { Workload } from './workload.ts';

/** Joining hosts are not waited for any longer than this. */
const JOIN_DEADLINE_MS = 300_000;

interface Person {
  readonly name: string;
  readonly next: (tag: string) => OperatorCommand<unknown> | undefined;
  readonly pauseMs: number;
}

async function run(world: World, ground: ScaleInSetup, ready: Promise<void>): Promise<void> {
  await ready;
  const inside = { networks: ground.inside, hosts: ground.hosts };
  const instances = new InstanceActions(world, inside, { create: 45, forceDown: 1, remap: 0 });
  const hosts = new ScaleInActions(world, ground);
  const services = new ServiceActions(world, ground);
  const people: Person[] = [
    { name: 'user', next: (tag) => instances.next(tag), pauseMs: 1800 },
    { name: 'operator1', next: (tag) => hosts.next(tag), pauseMs: 3000 },
    { name: 'operator2', next: (tag) => hosts.next(tag), pauseMs: 6000 },
    { name: 'router', next: (tag) => services.next(tag), pauseMs: 4000 },
  ];
  await Promise.all([...people.map((person) => act(world, person)), joinHosts(world, ground)]);
}

async function act(world: World, { name, next, pauseMs }: Person): Promise<void> {
  const operator = world.newOperator(name);
  for (let count = 1; world.isTroubled; count += 1) {
    const command = next(`${name}-${count}`);
    if (command !== undefined) await operator.ask(command);
    await operator.pause(world.rng.between(50, pauseMs));
  }
}

/** Joins removed hosts again, and gives tokens to those without a credential. */
async function joinHosts(world: World, ground: ScaleInSetup): Promise<void> {
  const operator = world.newOperator('installer');
  for (let count = 1; world.isTroubled; count += 1) {
    await operator.pause(world.rng.between(1000, 12_000));
    await joinAgain(world, ground, operator, `installer-${count}`);
    await giveTokens(world, ground);
  }
  // Elections that were held for an upgrade continue when it is over.
  const tag = 'installer-goes-on';
  if (world.rng.chance(0.8)) {
    const on = { ...valueOf(world.truth, ELECTION), held: false };
    await operator.ask(plain(tag, changeSettingTo(ELECTION, on, tag)));
  }
}

async function joinAgain(world: World, ground: ScaleInSetup, operator: Operator, by: string): Promise<void> {
  const { rng, truth } = world;
  const removed = ground.hosts.filter(({ name }) => truth.get(HOST, idOf(HOST, name))?.doc.state === 'removed');
  if (removed.length === 0 || rng.chance(0.4)) return;
  const hosts = removed.filter(() => rng.chance(0.7));
  if (hosts.length === 0) return;
  const how = {
    hosts,
    operation: idOf(OPERATION, `op-${by}`),
    rebalance: rng.chance(0.5),
    deadlineMs: JOIN_DEADLINE_MS,
    by,
  };
  for (const machine of world.machines) {
    if (!hosts.some(({ name }) => name === machine.name)) continue;
    // It is reinstalled: what a removal by force left on it is gone, and no operation continues there.
    const isAlive = machine.incarnation !== undefined;
    machine.crash();
    for (const { id } of [...machine.hypervisor.instances]) machine.hypervisor.remove(id);
    machine.joinToken = undefined;
    if (isAlive) machine.start();
  }
  await operator.ask(plain(by, (fleet, nowMs) => scaleOut(fleet, { ...how, nowMs })));
}

/** An agent that was ordered to leave, and one whose host was removed, come back with a new token only. */
async function giveTokens(world: World, ground: ScaleInSetup): Promise<void> {
  for (const machine of world.machines) {
    const host = world.truth.get(HOST, idOf(HOST, machine.name))?.doc;
    const needs = host !== undefined && host.state !== 'removed' && host.credential === undefined;
    if (!needs || host.state === 'finalizing' || (world.isTroubled && world.rng.chance(0.4))) continue;
    await ground.admin.giveToken(machine);
    machine.start();
  }
}

export const scaleIn: Workload = {
  name: 'scale-in',
  start: (world) => {
    const ground = new ScaleInSetup(world);
    const ready = ground.create();
    return {
      ready,
      done: run(world, ground, ready),
      atRest: () => checkScaleInAtRest(world),
      undo: () => removeEverything(world, () => giveTokens(world, ground)),
      atEnd: () => leftoverHosts(world),
    };
  },
};

export { giveTokens };
