// Nodes for tests of matching: small figures, so that nodes are often equally good.
import { Fleet, idOf, put, Registry, type Change } from '../../fleet/index.ts';
import { NODE, type Node } from '../model.ts';
import { NODE_INDEX } from './node-index.ts';
import { NO_REQUIREMENTS, type Requirements } from './requirements.ts';

export function node(id: string, fields: Partial<Node> = {}): Change {
  const doc: Node = {
    inventory: 'simulated',
    traits: [],
    memoryMiB: 4096,
    cpus: 8,
    localGiB: 100,
    physicalNetworks: [],
    state: 'available',
    power: 'off',
    epoch: 0,
    changedBy: 'test',
    changedAtMs: 1,
    ...fields,
  };
  return put(NODE, idOf(NODE, id), doc);
}

export function newFleet(...changes: Change[]): Fleet {
  const fleet = new Fleet(new Registry([{ kinds: [NODE], projections: [NODE_INDEX] }]));
  if (changes.length > 0) fleet.apply(1, changes);
  return fleet;
}

export function requirements(fields: Partial<Requirements> = {}): Requirements {
  return { ...NO_REQUIREMENTS, ...fields };
}
