// The parts of a server and an agent. The world uses the production code, folded from the same modules as the program; a mutant replaces
// one part of it from outside.
import { hash } from 'node:crypto';
import { createAuthorizedSubmit, type RouteContext as RouteWorld } from '../../src/access/index.ts';
import type { composeView } from '../../src/agent/index.ts';
import { HEARTBEAT_LISTENER, type GATEWAY_OPTIONS } from '../../src/agent/module.ts';
import { Agent, StatementIssuer, type AgentOptions, type AgentPorts } from '../../src/agent/runtime.ts';
import { INVENTORIES } from '../../src/baremetal/service-keys.ts';
import { SimulatedInventory } from '../../src/baremetal/drivers/simulated/inventory-driver.ts';
import { actOnMachine } from '../../src/baremetal/drivers/simulated/act.ts';
import type { ManagerOptions, ManagerPorts } from '../../src/baremetal/manager/ports.ts';
import { ManagerProgram } from '../../src/baremetal/manager/program.ts';
import { denyUnlessAwaited } from '../../src/baremetal/managers/awaited-call.ts';
import { denyUnlessManages } from '../../src/baremetal/managers/right.ts';
import { reserveNode } from '../../src/baremetal/reservations/reserve.ts';
import { fakeSigner } from '../../src/agent/protocol/signer-fixture.ts';
import {
  DRIVER_WRAPPER,
  provide,
  serviceKey,
  type Module,
  type NodeModule,
  type Provider,
  type ServiceOf,
} from '../../src/composition/index.ts';
import { LIVENESS_CONTROLLER, VIEW_PARTS } from '../../src/hosts/index.ts';
import { Journal, type JournalOptions, type Store } from '../../src/journal/index.ts';
import { MemoryStore, type MemoryDisk } from '../../src/journal/runtime.ts';
import { SECRETS, type OwnKeys } from '../../src/keys/index.ts';
import { CLUSTER_APIS } from '../../src/kubernetes/service-keys.ts';
import { coreProviders } from '../../src/main/core-providers.ts';
import { MODULES } from '../../src/main/modules.ts';
import { NODE_MODULES } from '../../src/main/node-modules.ts';
import { NETWORK_DRIVER } from '../../src/network/index.ts';
import { NetworkDriver, simulatedBackEnds } from '../../src/network/runtime.ts';
import { noteActing } from './clusters/acting-orders.ts';
import { SimClusterApis } from './clusters/cluster-port.ts';
import { NetworkPort } from './network-port.ts';
import { SIM_SECRETS } from './secrets.ts';
import { inventoryPort } from './managers/inventory-port.ts';
import type { IncarnationContext } from './server.ts';
import { trustedTime, trustedTimeProviders } from './trusted-clock.ts';
import type { World } from './world.ts';

export interface SimParts {
  /** The database on the shared disk. */
  readonly database: (disk: MemoryDisk) => Store;
  /** Wraps a server's connection to the store. */
  readonly client: (store: Store) => Store;
  readonly journal: (options: JournalOptions) => Journal;
  /** How requests of callers reach the journal. */
  readonly submit: (journal: Journal) => RouteWorld['submit'];
  /** Those of the program, and those of workloads. */
  readonly modules: readonly Module[];
  /** The same on hosts. */
  readonly nodeModules: readonly NodeModule[];
  /** What one incarnation of a server provides to its modules, or replaces in them. */
  readonly providers: (born: IncarnationContext, world: World) => readonly Provider[];
  readonly agent: (ports: AgentPorts, options: AgentOptions) => Agent;
  readonly manager: (ports: ManagerPorts, options: ManagerOptions) => ManagerProgram;
  /** What the routes for managers and reservations decide by. */
  readonly baremetal: BaremetalParts;
}

export interface BaremetalParts {
  readonly reserveNode: typeof reserveNode;
  readonly actOnMachine: typeof actOnMachine;
  readonly denyUnlessManages: typeof denyUnlessManages;
  readonly denyUnlessAwaited: typeof denyUnlessAwaited;
}

/** For drivers of workloads: the incarnation that they belong to, and its world. */
export const INCARNATION = serviceKey<IncarnationContext>('born');
export const WORLD = serviceKey<World>('world');

/** Longer than in production: a holder that pauses for a while may keep its lease, which some guards are for. */
const LEASE_TIMES = { ttlMs: 10_000, renewMs: 3_000 };
/** The expiry of long polls is checked more often in production, for other callers' sake; here that would only add ticks. */
const GATEWAY_CHECK_MS = 1000;

/** All servers of a world sign with the same key. */
const SIGNER = fakeSigner();
const KEYS: OwnKeys = { serial: 1, signing: ['signing-1'], authorities: ['authority-1'] };

export function sha256(text: string): string {
  return hash('sha256', text);
}

/** What every server says of itself to hosts. */
export function viewSource({ composition }: World): Parameters<typeof composeView>[1] {
  return { parts: composition.all(VIEW_PARTS), kinds: composition.operationKinds };
}

function gatewayParts({ journal }: IncarnationContext, { servers }: World): ServiceOf<typeof GATEWAY_OPTIONS> {
  const statements = new StatementIssuer({
    journalId: () => journal.journalId,
    signer: () => SIGNER,
    servers: () => servers.map((server) => server.url),
  });
  return { intervalMs: GATEWAY_CHECK_MS, hash: sha256, statements };
}

export const productionParts: SimParts = {
  database: (disk) => new MemoryStore(disk),
  client: (store) => store,
  journal: (options) => new Journal(options),
  submit: createAuthorizedSubmit,
  modules: MODULES,
  nodeModules: NODE_MODULES,
  providers: (born, world) => [
    provide(INCARNATION, () => born),
    provide(WORLD, () => world),
    ...coreProviders({
      lease: { holder: born.program.name, url: () => born.url, ...LEASE_TIMES },
      keys: { ids: () => KEYS },
      credentials: { has: born.hasCredentials },
      trustedTime,
      gateway: () => gatewayParts(born, world),
    }),
    ...trustedTimeProviders(born),
    provide(NETWORK_DRIVER, () => {
      const { clock, hasCredentials, program } = born;
      return new NetworkDriver({ clock, hasCredentials, backEnds: simulatedBackEnds(new NetworkPort(world, program)) });
    }),
    provide(SECRETS, () => SIM_SECRETS),
    provide(CLUSTER_APIS, () => new SimClusterApis(world, born)),
    provide(DRIVER_WRAPPER, () => (name, driver) => noteActing(world, name, driver)),
    provide(INVENTORIES, ({ environment }) => {
      const { program } = born;
      return new Map([['simulated', inventoryPort(new SimulatedInventory(environment), { world, program })]]);
    }),
    provide(HEARTBEAT_LISTENER, (runtime) => {
      const liveness = runtime.get(LIVENESS_CONTROLLER);
      return {
        recordHeartbeat: (host) => {
          world.heartbeats.record(born.program.name, host, world.scheduler.nowMs);
          liveness.recordHeartbeat(host);
        },
      };
    }),
  ],
  agent: (ports, options) => new Agent(ports, options),
  manager: (ports, options) => new ManagerProgram(ports, options),
  baremetal: { reserveNode, actOnMachine, denyUnlessManages, denyUnlessAwaited },
};
