// The builder on bare-metal nodes: instances of bare-metal flavors, each on a machine of its own.
import type { Builder } from '../../instances/index.ts';
import { beginOnNodes, previewOnNodes } from './begin.ts';
import { deleteFromNodes } from './delete-operation.ts';
import { BARE_METAL } from './names.ts';
import { nodeOfInstance } from './node-of.ts';
import { switchPower } from './power-operation.ts';
import { flavorProblem, requestProblem } from './request-problem.ts';

const STAYS = 'it has a machine of its own, and what is on its disks goes with it nowhere.';

export const nodeBuilder: Builder = {
  name: BARE_METAL,
  buildsFlavor: ({ bareMetal }) => bareMetal !== undefined,
  flavorProblem,
  requestProblem,
  begin: beginOnNodes,
  preview: previewOnNodes,
  beginDeletion: deleteFromNodes,
  beginPower: switchPower,
  readStatus: (fleet, id) => {
    const node = nodeOfInstance(fleet, id)?.doc;
    if (node === undefined) return undefined;
    const { state, power, epoch, manager } = node;
    return { state, power, epoch, ...(manager !== undefined && { manager }) };
  },
  unsupported: {
    move: `${STAYS} Create another instance, and delete this one.`,
    shelve: `${STAYS} Switch it off with "muster instances power off", or delete it.`,
    unshelve: `${STAYS} It was never shelved: switch it on with "muster instances power on".`,
    rebuild: `${STAYS} Delete it, and create it again.`,
  },
};
