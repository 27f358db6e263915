// The end of every world with instances: all machines get power, everything is deleted, and nothing may be left: no claim, no address, no
// port but users', no copy on any machine.
import { idOf } from '../../src/fleet/index.ts';
import { deleteInstances, INSTANCE } from '../../src/instances/index.ts';
import { deletePort } from '../../src/network/decisions-fixture.ts';
import { capabilitiesOf, CLAIM, PORT } from '../../src/network/index.ts';
import { isUnfinished, ITEMS_BY_OPERATION, OPERATION, retryOperation } from '../../src/operations/index.ts';
import { isInScope, wasToBeSwept } from '../checkers/machines.ts';
import type { OperatorCommand } from '../world/operator.ts';
import type { World } from '../world/world.ts';
import { plain } from './commands.ts';

const ROUNDS_MAX = 12;
const ROUND_MS = 3000;
const DAY_MS = 24 * 3600 * 1000;

export async function deleteEverything(world: World): Promise<void> {
  const operator = world.newOperator('sweeper');
  for (const machine of world.machines) if (!machine.powered) machine.getPower();
  for (let round = 1; round <= ROUNDS_MAX && world.truth.count(INSTANCE) > 0; round += 1) {
    const commands = [...world.truth.all(INSTANCE)].flatMap(
      ({ id }) => deletion(world, id, `sweep-${round}-${id}`) ?? [],
    );
    await Promise.all(commands.map((command) => operator.ask(command)));
    await operator.pause(ROUND_MS);
  }
  const ports = [...world.truth.all(PORT)].filter(({ doc }) => doc.createdBy === 'user' && world.rng.chance(0.5));
  await Promise.all(ports.map(({ id }) => operator.ask(portDeletion(id))));
}

function portDeletion(id: string): OperatorCommand<unknown> {
  const by = `sweep-port-${id}`;
  const operation = idOf(OPERATION, `op-${by}`);
  return plain(by, (fleet, nowMs) => deletePort(fleet, { id, operation, by, nowMs }));
}

/** A deletion that is stuck, because its deadline passed, is continued. */
function deletion({ truth, composition }: World, id: string, by: string): OperatorCommand<unknown> | undefined {
  const instance = truth.get(INSTANCE, idOf(INSTANCE, id));
  if (instance === undefined) return undefined;
  if (instance.doc.state !== 'deleting') {
    const operation = idOf(OPERATION, `op-${by}`);
    return plain(by, (fleet, nowMs) => deleteInstances(fleet, { ids: [id], operation, by, nowMs, deadlineMs: DAY_MS }));
  }
  const stuck = [...truth.all(OPERATION)].find(
    ({ id: operation, doc }) =>
      doc.kind === 'instance-delete' &&
      doc.state === 'failed' &&
      [...truth.find(ITEMS_BY_OPERATION, operation)].some((item) => item.doc.target.id === id),
  );
  if (stuck === undefined) return undefined;
  const kinds = composition.operationKinds;
  return plain(by, (fleet, nowMs) => retryOperation(fleet, { id: stuck.id, kinds, nowMs }));
}

export function leftoverInstances(world: World): string[] {
  const { truth, machines, network } = world;
  const users = (id: string): boolean => truth.get(PORT, idOf(PORT, id))?.doc.createdBy === 'user';
  return [
    ...[...truth.all(INSTANCE)].map(({ id, doc }) => `instance ${id} is ${doc.state}`),
    ...[...truth.all(CLAIM)].map(({ id, doc }) => `claim ${id} on ${doc.host}`),
    ...[...truth.all(PORT)].flatMap(({ id, doc }) => {
      if (doc.createdBy === 'muster') return [`port ${id} of ${doc.instance}`];
      const attached = doc.instance !== undefined || doc.binding !== undefined;
      return attached ? [`user's port ${id} is attached to ${doc.instance}`] : [];
    }),
    ...[...truth.all(OPERATION)].flatMap(({ id, doc }) =>
      isUnfinished(doc) && doc.kind !== 'host-join' ? [`operation ${id} (${doc.title}) is not finished`] : [],
    ),
    ...machines
      .filter(({ name }) => isInScope(world, name))
      .flatMap(({ name, hypervisor }) =>
        hypervisor.instances.flatMap(({ id }) => (wasToBeSwept(world, id, name) ? [] : [`a copy of ${id} on ${name}`])),
      ),
    ...[...network.backEnd.ports()].flatMap(([id, port]) => {
      if (!users(id)) return [`port ${id} of ${port.instance} at the back end`];
      const attached = port.instance !== undefined || port.binding !== undefined;
      return attached ? [`user's port ${id} is attached to ${port.instance} at the back end`] : [];
    }),
    ...[...network.backEnd.addressOwners()].flatMap((id) =>
      network.backEnd.port(id) === undefined ? [`an address of port ${id}, which is gone, at the back end`] : [],
    ),
    ...[...truth.all(PORT)].flatMap(({ id, doc }) => addressesDiffer(truth, network, id, doc)),
  ];
}

function addressesDiffer(
  truth: World['truth'],
  { backEnd }: World['network'],
  id: string,
  doc: { readonly network: string; readonly addresses: readonly { readonly ip: string }[] },
): string[] {
  const there = backEnd.port(id);
  if (there === undefined || capabilitiesOf(truth, doc.network).inline) return [];
  const [ours, theirs] = [doc.addresses, there.addresses].map((list) =>
    list
      .map(({ ip }) => ip)
      .sort()
      .join(' '),
  );
  return ours === theirs ? [] : [`user's port ${id} has [${ours}], at the back end [${theirs}]`];
}
