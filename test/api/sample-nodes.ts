// Bare metal in site central, of the default project: for suites that call every route on something that is there.
import { MANAGER, NODE, RESERVATION, type Manager, type Node, type Reservation } from '../../src/baremetal/index.ts';
import { INVENTORY } from '../../src/baremetal/inventories/model.ts';
import { idOf, put, type Change } from '../../src/fleet/index.ts';

/** What is named in the paths of routes, by their folder. */
export const SAMPLE_NODES: Readonly<Record<string, string>> = {
  nodes: 'node-1',
  managers: 'm1',
  reservations: 'lost-1',
  inventories: 'ironic',
};

export function nodeChange(id: string, facts: Partial<Node> = {}): Change {
  return put(NODE, idOf(NODE, id), {
    ...{ name: id, inventory: 'simulated', traits: [], memoryMiB: 1024, cpus: 8, localGiB: 100, physicalNetworks: [] },
    ...{ state: 'available', power: 'off', epoch: 0, changedBy: 'test', changedAtMs: 1 },
    ...facts,
  });
}

export function sampleNodes(): Change[] {
  const used = { state: 'active', epoch: 1, dirty: true, instance: 'x', manager: 'm1', managerEpoch: 1 } as const;
  return [
    nodeChange('node-1', { site: 'central', owner: 'default' }),
    managerChange('m1', { site: 'central' }),
    // What keeps the manager from being forgotten.
    nodeChange('node-2', { site: 'central', ...used }),
    reservation('x', { state: 'active', node: 'node-2', nodeEpoch: 1 }),
    failedReservation('lost-1'),
    inventoryChange,
  ];
}

const inventoryChange = put(INVENTORY, idOf(INVENTORY, 'ironic'), {
  name: 'ironic',
  claims: 'direct',
  pass: { beganAtMs: 1, endedAtMs: 2, nodes: 3 },
  unreachable: { sinceMs: 3, text: 'it did not answer in time' },
});

export function managerChange(name: string, facts: Partial<Manager> = {}): Change {
  return put(MANAGER, idOf(MANAGER, name), {
    ...{ name, version: '1', state: 'stopped', holder: 'p-0', leaseEpoch: 0, sinceMs: 1 },
    ...{ changedBy: 'test', changedAtMs: 1 },
    ...facts,
  });
}

/** One that found no node. */
function failedReservation(instance: string): Change {
  return reservation(instance, {
    state: 'error',
    reason: { code: 'no-match', message: 'No node.' },
    stages: [
      { stage: 'candidates', left: 1 },
      { stage: 'state', left: 0 },
    ],
    failedAtMs: 10 ** 13,
  });
}

function reservation(instance: string, facts: Partial<Reservation>): Change {
  return put(RESERVATION, idOf(RESERVATION, instance), {
    ...{ instance, manager: 'm1', project: 'default', site: 'central', state: 'error', digest: '', ignored: [] },
    request: { instance_uuid: instance, manager: 'm1', memory_mb: 1, extra_specs: { 'trait:X': 'required' } },
    ...{ createdAtMs: 1, changedBy: 'test', changedAtMs: 1 },
    ...facts,
  });
}
