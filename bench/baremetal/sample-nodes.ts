// Machines as a fleet has them: racks of a few sorts, each described in full.
import type { TextChange } from '../../src/journal/index.ts';
import { MANAGER, NODE, type Node } from '../../src/baremetal/index.ts';

export const CLASSES = 20;
const NODES_PER_RACK = 40;
const LONG_AGO_MS = Date.UTC(2025, 0, 1);

function nodeName(nth: number): string {
  const rack = Math.floor(nth / NODES_PER_RACK);
  return `rack-${String(rack).padStart(4, '0')}-u${String(nth % NODES_PER_RACK).padStart(2, '0')}`;
}

/** What is said of a machine when it is enrolled. Machines of a class are alike. */
export function nodeSpec(nth: number): Partial<Node> {
  const sort = nth % CLASSES;
  return {
    name: nodeName(nth),
    resourceClass: `baremetal.class-${sort}`,
    traits: ['HW_CPU_X86_VMX', 'CUSTOM_RAID', ...(sort % 4 === 0 ? ['CUSTOM_GPU'] : [])],
    memoryMiB: 65_536 * (1 + (sort % 5)),
    cpus: 16 * (1 + (sort % 3)),
    localGiB: 480 * (1 + (sort % 2)),
    cpuArch: 'x86_64',
    capabilities: `boot_mode:uefi,secure_boot:true,disk_label:gpt,cpu_aes:true,node:${sort}`,
    physicalNetworks: ['provision', 'tenant'],
  };
}

/** Of nodes that are in use: who acts on them, in turn. */
export const MANAGERS_OF_SEED = 5;
export const managerOfSeed = (nth: number): string => `manager-${nth % MANAGERS_OF_SEED}`;
/** The epoch of their leases when they acquired them. */
const MANAGER_EPOCH = 1;

/** Half of each class. */
const isInUsedHalf = (nth: number): boolean => Math.floor(nth / CLASSES) % 2 === 0;

/** Documents as they are in the journal. */
export function* seedNodes(
  count: number,
  use: 'all free' | 'half in use' | 'all in use' = 'all free',
): Generator<TextChange> {
  for (let nth = 0; nth < count; nth += 1) {
    const used = { state: 'active', power: 'on', dirty: true, instance: `instance-${nth}`, epoch: 3 };
    const manager = managerOfSeed(nth);
    const acted = { manager, managerEpoch: MANAGER_EPOCH };
    const free = { state: 'available', power: 'off', epoch: 0 };
    const inUse = use === 'all in use' || (use === 'half in use' && isInUsedHalf(nth));
    const facts = inUse ? { ...used, ...acted } : free;
    const changed = { changedBy: 'bench', changedAtMs: LONG_AGO_MS };
    const body = JSON.stringify({ ...nodeSpec(nth), inventory: 'simulated', ...facts, ...changed });
    yield { kind: NODE.name, id: nodeName(nth), body };
  }
}

/** The managers of nodes in use, as they were when they acquired them. */
export function* seedManagers(): Generator<TextChange> {
  for (let nth = 0; nth < MANAGERS_OF_SEED; nth += 1) {
    const name = managerOfSeed(nth);
    const changed = { changedBy: 'bench', changedAtMs: LONG_AGO_MS };
    const doc = {
      name,
      version: '0.0.0',
      state: 'live',
      holder: 'bench',
      leaseEpoch: MANAGER_EPOCH,
      sinceMs: LONG_AGO_MS,
    };
    yield { kind: MANAGER.name, id: name, body: JSON.stringify({ ...doc, ...changed }) };
  }
}
