// Bare-metal instances that are built, switched and deleted, and nodes that callers reserve by hand, while managers and servers come and go and machines
// fail. In the end everything is deleted, and nothing may be left.
import { MANAGER, NODE, RESERVATION } from '../../../src/baremetal/index.ts';
import { undrainManager } from '../../../src/baremetal/managers/drain.ts';
import { resumeManager } from '../../../src/baremetal/managers/pause.ts';
import { BUILDERS, Builders, deleteInstances, INSTANCE } from '../../../src/instances/index.ts';
import { idOf } from '../../../src/fleet/index.ts';
import { OPERATION, retryOperation } from '../../../src/operations/index.ts';
import { retireManagers } from '../../faults/managers.ts';
import type { OperatorCommand, Operator } from '../../world/operator.ts';
import type { World } from '../../world/world.ts';
import { plain } from '../commands.ts';
import type { Workload } from '../workload.ts';
import { BaremetalActions, releaseOf } from './actions.ts';
import { checkBaremetalAtRest, leftoverNodes } from './at-rest.ts';
import { repairMachines, wipeNode } from './machines.ts';
import { BaremetalSetup } from './setup.ts';

const DAY_MS = 24 * 3600 * 1000;
const ROUNDS_MAX = 16;
const ROUND_MS = 4000;
/** Operators repair what broke until it is whole. */
const REPAIRS_MAX = 20;
/** After it every manager that was away has its nodes back. */
const QUIET_MS = 40_000;

async function run(world: World, setup: BaremetalSetup, ready: Promise<void>): Promise<void> {
  await ready;
  const actions = new BaremetalActions(world, setup);
  const users = Array.from({ length: world.rng.between(2, 3) }, (_, at) => `user${at + 1}`);
  await Promise.all([
    ...users.map((name) => act(world, name, { next: (by) => actions.nextOfUser(by), pauseMs: 2500 })),
    act(world, 'operator', { next: (by) => actions.nextOfOperator(by), pauseMs: 3500 }),
  ]);
  await repair(world);
  await world.newOperator('retirer').pause(QUIET_MS);
  retireManagers(world);
}

interface Acts {
  readonly next: (by: string) => OperatorCommand<unknown> | undefined;
  readonly pauseMs: number;
}

async function act(world: World, name: string, { next, pauseMs }: Acts): Promise<void> {
  const operator = world.newOperator(name);
  for (let count = 1; world.isTroubled; count += 1) {
    const command = next(`${name}-${count}`);
    if (command !== undefined) await operator.ask(command);
    await operator.pause(world.rng.between(50, pauseMs));
  }
}

/** Machines that hang, managers that were drained or paused by a command: all are put right. */
async function repair(world: World): Promise<void> {
  const operator = world.newOperator('repairer');
  await insist(operator, (by) => repairMachines(by), 'machines');
  for (const { id } of [...world.truth.all(MANAGER)]) {
    await insist(
      operator,
      (by) => plain(by, (fleet, nowMs) => undrainManager(fleet, { manager: id, by, nowMs })),
      `undrain-${id}`,
    );
    await insist(
      operator,
      (by) => plain(by, (fleet, nowMs) => resumeManager(fleet, { manager: id, by, nowMs })),
      `resume-${id}`,
    );
  }
}

async function insist(
  operator: Operator,
  command: (by: string) => OperatorCommand<unknown>,
  what: string,
): Promise<void> {
  for (let tries = 1; tries <= REPAIRS_MAX; tries += 1) {
    if ((await operator.ask(command(`repair-${what}-${tries}`))) !== undefined) return;
    await operator.pause(1000);
  }
}

async function deleteEverything(world: World): Promise<void> {
  const operator = world.newOperator('sweeper');
  const builders = new Builders(world.composition.all(BUILDERS));
  for (let round = 1; round <= ROUNDS_MAX && leftoverNodes(world).length > 0; round += 1) {
    const commands = [
      ...[...world.truth.all(INSTANCE)].flatMap(
        ({ id }) => deletion(world, builders, { id, by: `sweep-${round}-${id}` }) ?? [],
      ),
      ...[...world.truth.all(RESERVATION)].flatMap(({ id }) =>
        world.truth.get(INSTANCE, idOf(INSTANCE, id)) === undefined
          ? [releaseOf(id, `sweep-${round}-reservation-${id}`)]
          : [],
      ),
      ...[...world.truth.all(NODE)].flatMap(({ id, doc }) =>
        doc.state === 'clean-failed' ? [wipeNode(id, `sweep-${round}-wipe-${id}`)] : [],
      ),
    ];
    await Promise.all(commands.map((command) => operator.ask(command)));
    await operator.pause(ROUND_MS);
  }
}

/** One that failed, because its deadline passed, is continued. */
function deletion(
  { truth, composition }: World,
  builders: Builders,
  { id, by }: { readonly id: string; readonly by: string },
): OperatorCommand<unknown> | undefined {
  const instance = truth.get(INSTANCE, idOf(INSTANCE, id))?.doc;
  if (instance?.state !== 'deleting') {
    const operation = idOf(OPERATION, `op-${by}`);
    return plain(by, (fleet, nowMs) =>
      deleteInstances(fleet, { ids: [id], operation, by, nowMs, deadlineMs: DAY_MS }, builders),
    );
  }
  const stuck = [...truth.all(OPERATION)].find(
    ({ doc }) => doc.state === 'failed' && doc.title.endsWith(`delete instance ${id}`),
  );
  const kinds = composition.operationKinds;
  return stuck && plain(by, (fleet, nowMs) => retryOperation(fleet, { id: stuck.id, kinds, nowMs }));
}

export const baremetal: Workload = {
  name: 'baremetal',
  start: (world) => {
    const setup = new BaremetalSetup(world);
    const ready = setup.create();
    return {
      ready,
      done: run(world, setup, ready),
      atRest: () => checkBaremetalAtRest(world),
      undo: () => deleteEverything(world),
      atEnd: () => leftoverNodes(world),
    };
  },
};
