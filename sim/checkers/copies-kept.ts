// The only copy of an instance that ran is never destroyed, unless its user gave it up by deleting or shelving it. Checked on the machines,
// independently of how the product tracks copies.
import { idOf } from '../../src/fleet/index.ts';
import { HOST } from '../../src/hosts/index.ts';
import { INSTANCE, type Instance } from '../../src/instances/index.ts';
import { ITEM, itemOfTask, OPERATION } from '../../src/operations/index.ts';
import type { World } from '../world/world.ts';
import type { Checker } from './checker.ts';
import { hostChanges } from './leaving.ts';
import { isInScope } from './machines.ts';

/** In these states its user has released its disk, or it starts anew without it. */
const RELINQUISHED_STATES: readonly Instance['state'][] = ['deleting', 'shelving', 'shelved', 'building'];

/**
 * A rebuild makes the instance from its image: a failed attempt at one host is swept and repeated at another, as in any build, and nothing
 * of the instance is lost by that. It was lost before, with the host that was removed by force while it had the only copy.
 */
function isTryOfRebuild({ truth }: World, by: string): boolean {
  const item = truth.get(ITEM, itemOfTask(by))?.doc;
  if (item === undefined || item.state === 'done') return false;
  return truth.get(OPERATION, idOf(OPERATION, item.operation))?.doc.kind === 'instance-rebuild';
}

/** Whether some machine has it: running, ended, stopped by a power loss, or received from another machine. */
function hasCopy(world: World, id: string, except?: string): boolean {
  return world.machines.some(({ name, hypervisor }) => {
    if (name === except) return false;
    const copy = hypervisor.instance(id);
    if (copy === undefined || copy.state === 'prepared' || copy.state === 'sent') return false;
    return !isTryOfRebuild(world, copy.by);
  });
}

export const onlyCopyKept: Checker = {
  name: 'never: an instance that ran is left without a copy',
  watch: (violated, world) => {
    const { truth } = world;
    /** The creation times of instances that ran and of which some machine has a copy. */
    const kept = new Map<string, number>();
    return {
      onApplied: ({ applied }) => {
        // The copies on a removed host are its owner's concern.
        for (const { id: host, is } of hostChanges(applied)) {
          if (is?.state !== 'removed') continue;
          for (const id of kept.keys()) if (!hasCopy(world, id, host)) kept.delete(id);
        }
        for (const { kind, before, after } of applied) {
          if (kind !== INSTANCE.name) continue;
          const [id, doc] = [(after ?? before)?.id ?? '', after?.doc as Instance | undefined];
          if (doc === undefined || kept.get(id) !== doc.createdAtMs) kept.delete(id);
          if (doc?.state === 'active' && hasCopy(world, id)) kept.set(id, doc.createdAtMs);
        }
      },
      onMachineChanged: ({ name }) => {
        for (const id of kept.keys()) {
          if (hasCopy(world, id)) continue;
          kept.delete(id);
          const instance = truth.get(INSTANCE, idOf(INSTANCE, id))?.doc;
          if (instance === undefined || RELINQUISHED_STATES.includes(instance.state)) continue;
          if (truth.get(HOST, idOf(HOST, name))?.doc.state === 'removed' || !isInScope(world, name)) continue;
          violated(`${id} is ${instance.state}, and its last copy was destroyed on ${name}`);
        }
      },
    };
  },
};

/** A removal by force carries a reason. In every other case the operator was shown the instance first. */
export const removedWithoutOnlyCopy: Checker = {
  name: 'never: a host is removed on evidence while it has the only copy of an instance that ran',
  watch: (violated, world) => ({
    onApplied: ({ truth, applied, entry: { commit } }) => {
      for (const { id: host, was, is } of hostChanges(applied)) {
        if (is?.state !== 'removed' || was?.state !== 'finalizing') continue;
        if (is.leaving?.forced !== undefined || was.readmitted === true) continue;
        const machine = world.machines.find(({ name }) => name === host);
        for (const { id, state } of machine?.hypervisor.instances ?? []) {
          const instance = truth.get(INSTANCE, idOf(INSTANCE, id))?.doc;
          if (state === 'prepared' || instance?.wasActive !== true || RELINQUISHED_STATES.includes(instance.state))
            continue;
          if (!hasCopy(world, id, host))
            violated(`${host} has that of ${id} (${instance.state}) at ${commit.revision}`);
        }
      }
    },
  }),
};
