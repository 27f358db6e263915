// The fleet that reservations are made on: free nodes of twenty classes, and one manager that is live.
import { SETTING } from '../../../src/fleet/index.ts';
import { MANAGER, type Manager } from '../../../src/baremetal/index.ts';
import { MANAGERS } from '../../../src/baremetal/managers/settings.ts';
import type { TextChange } from '../../../src/journal/index.ts';
import { clientTokens, managerToken } from '../../seeded-store.ts';
import { CLASSES, seedManagers, seedNodes } from '../sample-nodes.ts';

export const MANAGER_NAME = 'm1';
const CHANGED = { changedBy: 'bench', changedAtMs: Date.UTC(2025, 0, 1) };

const MANAGER_DOC: Manager = {
  name: MANAGER_NAME,
  version: '0.0.0',
  state: 'live',
  holder: 'bench',
  leaseEpoch: 1,
  sinceMs: CHANGED.changedAtMs,
  ...CHANGED,
};

/** No program renews the lease of a simulated manager: it lasts for the whole run. */
const LONG_LEASES = { value: { leaseMs: 600_000, renewMs: 5_000 }, ...CHANGED };

export interface ReservationFleet {
  readonly nodes: number;
  readonly clients?: number;
  /** Whether the manager is there; over HTTP it registers itself. */
  readonly manager?: 'live' | 'registers';
  readonly use?: 'all free' | 'half in use';
}

/** One sends a thousand requests a second at most. */
export const MANAGER_TOKENS = 8;

export function* reservationFleet(fleet: ReservationFleet): Generator<TextChange> {
  const { nodes, clients = 0, manager = 'live', use = 'all free' } = fleet;
  yield { kind: SETTING.name, id: MANAGERS.name, body: JSON.stringify(LONG_LEASES) };
  yield* clientTokens(clients);
  if (manager === 'live') yield { kind: MANAGER.name, id: MANAGER_NAME, body: JSON.stringify(MANAGER_DOC) };
  else for (let nth = 0; nth < MANAGER_TOKENS; nth += 1) yield managerToken(MANAGER_NAME, nth);
  if (use === 'half in use') yield* seedManagers();
  yield* seedNodes(nodes, use);
}

/** The bodies of requests, in the spelling of the specification: each request another class. */
export function reservationBody(instance: string, nth: number): Readonly<Record<string, unknown>> {
  const sort = nth % CLASSES;
  return {
    instance_uuid: instance,
    manager: MANAGER_NAME,
    memory_mb: 65_536,
    vcpus: 16,
    root_gb: 100,
    ephemeral_gb: 0,
    swap: 2048,
    extra_specs: { [`resources:CUSTOM_BAREMETAL_CLASS_${sort}`]: '1', 'trait:HW_CPU_X86_VMX': 'required' },
    image: { id: 'debian-13', properties: { architecture: 'x86_64' } },
  };
}
