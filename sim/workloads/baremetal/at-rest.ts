// What must be true of bare metal once all faults are over: work is finished, machines are as their nodes say, nodes have managers that are there.
import { MANAGER, NODE, RESERVATION, type Node } from '../../../src/baremetal/index.ts';
import { idOf } from '../../../src/fleet/index.ts';
import { INSTANCE, type Instance } from '../../../src/instances/index.ts';
import { PORT } from '../../../src/network/index.ts';
import { isUnfinished, ITEM, OPERATION } from '../../../src/operations/index.ts';
import type { World } from '../../world/world.ts';
import { machineNow } from './machines.ts';

export function checkBaremetalAtRest(world: World): string[] {
  const { truth } = world;
  return [
    ...unfinishedWork(world),
    ...[...truth.all(INSTANCE)].flatMap(({ id, doc }) => instanceAtRest(world, id, doc)),
    ...[...truth.all(NODE)].flatMap(({ id, doc }) => nodeAtRest(world, id, doc)),
    ...[...truth.all(RESERVATION)].flatMap(({ id, doc }) =>
      doc.state === 'active' || doc.state === 'error' ? [] : [`reservation ${id} is still ${doc.state}`],
    ),
    ...managersAtRest(world),
  ];
}

function unfinishedWork({ truth }: World): string[] {
  return [...truth.all(OPERATION)].flatMap(({ id, doc }) =>
    isUnfinished(doc) ? [`operation ${id} (${doc.title}) is not finished`] : [],
  );
}

function instanceAtRest(world: World, id: string, { state, power }: Instance): string[] {
  if (state === 'error') return [];
  if (state !== 'active') return [`instance ${id} is still ${state}`];
  const node = [...world.truth.all(NODE)].find(({ doc }) => doc.instance === id);
  if (node === undefined) return [`instance ${id} is active on no node`];
  const machine = machineNow(world, world.truth, node.id);
  return [
    ...(node.doc.state === 'active' ? [] : [`instance ${id} is active on node ${node.id}, which is ${node.doc.state}`]),
    ...(machine.state === 'deployed' && machine.instance === id
      ? []
      : [`instance ${id} is active on ${node.id}, whose machine is ${machine.state} for ${machine.instance}`]),
    ...(machine.power === power || isPowerUnknown(world, id)
      ? []
      : [`instance ${id} is ${power}, and its machine is ${machine.power}`]),
  ];
}

/** By a deadline or a cancel, after the machine may have been called: whether it was is not known. */
function isPowerUnknown({ truth }: World, instance: string): boolean {
  return [...truth.all(ITEM)].some(({ doc }) => {
    const operation = truth.get(OPERATION, idOf(OPERATION, doc.operation))?.doc;
    return operation?.kind === 'baremetal-power' && doc.target.id === instance && doc.state !== 'done';
  });
}

const AT_WORK: readonly Node['state'][] = ['deploying', 'cleaning'];

function nodeAtRest(world: World, id: string, doc: Node): string[] {
  const { truth } = world;
  const machine = machineNow(world, truth, id);
  const manager = doc.manager === undefined ? undefined : truth.get(MANAGER, idOf(MANAGER, doc.manager))?.doc;
  const isManaged = doc.manager === undefined || (manager?.state === 'live' && manager.leaseEpoch === doc.managerEpoch);
  const isFree = doc.state === 'available' && doc.claimedFor === undefined;
  return [
    ...(AT_WORK.includes(doc.state) ? [`node ${id} is still ${doc.state}`] : []),
    ...(doc.claimedFor === undefined ? [] : [`node ${id} is still claimed for ${doc.claimedFor}`]),
    ...(isManaged ? [] : [`node ${id} has manager ${doc.manager}, who has not acquired it`]),
    ...(isFree && (machine.state !== 'empty' || machine.instance !== undefined)
      ? [`node ${id} is free, and its machine is ${machine.state} for ${machine.instance}`]
      : []),
  ];
}

function managersAtRest({ truth, managers }: World): string[] {
  return managers.flatMap(({ name, incarnation, isRetired }) => {
    if (isRetired) return [];
    const doc = truth.get(MANAGER, idOf(MANAGER, name))?.doc;
    return [
      ...(incarnation?.manager.mayAct === true ? [] : [`manager ${name} has no lease`]),
      ...(doc?.state === 'live' ? [] : [`manager ${name} runs and is ${doc?.state}`]),
    ];
  });
}

/** Everything was deleted: sentences about what is left. */
export function leftoverNodes(world: World): string[] {
  const { truth } = world;
  return [
    ...unfinishedWork(world),
    ...[...truth.all(INSTANCE)].map(({ id, doc }) => `instance ${id} is ${doc.state}`),
    ...[...truth.all(RESERVATION)].map(({ id, doc }) => `reservation ${id} is ${doc.state}`),
    ...[...truth.all(PORT)].map(({ id, doc }) => `port ${id} of ${doc.instance}`),
    ...[...truth.all(NODE)].flatMap(({ id, doc }) => {
      const { state, instance } = machineNow(world, truth, id);
      // One that could not be cleaned, and has no user, is removed with what is on it.
      if (doc.state === 'removed' && doc.dirty === true) return [];
      return [
        ...(doc.instance === undefined && doc.state !== 'clean-failed'
          ? []
          : [`node ${id} is ${doc.state} for ${doc.instance}`]),
        ...(state === 'empty' && instance === undefined ? [] : [`the machine of ${id} is ${state} for ${instance}`]),
      ];
    }),
  ];
}
