// What a server and an agent are made of. The world uses the production code; a mutant replaces one part of it from
// outside.
import { hash } from 'node:crypto';
import { authorizingSubmit, type World as RouteWorld } from '../../src/access/index.ts';
import { Agent, Desk, ViewsDriver, Vouching, type AgentOptions, type AgentPorts } from '../../src/agent/runtime.ts';
import { fakeSigner } from '../../src/agent/signer-fixture.ts';
import { sensesOf } from '../../src/election/index.ts';
import { ElectionController } from '../../src/election/runtime.ts';
import type { Model } from '../../src/fleet/index.ts';
import type { ViewPart } from '../../src/hosts/index.ts';
import { LivenessController } from '../../src/hosts/runtime.ts';
import { DegradedController } from '../../src/instances/runtime.ts';
import { Journal, type JournalOptions, type Store } from '../../src/journal/index.ts';
import { MemoryStore, type MemoryDisk } from '../../src/journal/runtime.ts';
import { MODELS, OPERATION_KINDS, VIEW_PARTS } from '../../src/main/rooms.ts';
import { NetworkDriver, NetworkEventsController, simulatedBackEnds } from '../../src/network/runtime.ts';
import type { Driver, OperationKind } from '../../src/operations/index.ts';
import { LeaseController, OperationsController } from '../../src/operations/runtime.ts';
import { NetworkPort } from './network-port.ts';
import type { Born } from './server.ts';
import type { World } from './world.ts';

export interface Controller {
  run(signal: AbortSignal): Promise<void>;
}

/** The controllers of one start of a server that others speak to. All of them run. */
export interface Rooms {
  readonly lease: LeaseController;
  readonly liveness: LivenessController;
  readonly operations: OperationsController;
  readonly news: NetworkEventsController;
  readonly election: ElectionController;
  readonly desk: Desk;
}

export interface Parts {
  /** The database on the shared disk. */
  readonly database: (disk: MemoryDisk) => Store;
  /** What lies between a server's journal and its connection. */
  readonly client: (store: Store) => Store;
  readonly journal: (options: JournalOptions) => Journal;
  /** How what callers ask for gets to the journal. */
  readonly submit: (journal: Journal) => RouteWorld['submit'];
  readonly models: readonly Model[];
  readonly operationKinds: readonly OperationKind[];
  /** What agents are shown. */
  readonly viewParts: readonly ViewPart[];
  /** Drivers by name, made for one start of a server. */
  readonly drivers: Readonly<Record<string, (born: Born, world: World, desk: Desk) => Driver>>;
  readonly lease: (born: Born) => LeaseController;
  readonly liveness: (born: Born) => LivenessController;
  readonly operations: (born: Born, world: World, desk: Desk) => OperationsController;
  readonly election: (born: Born, rooms: Pick<Rooms, 'desk' | 'liveness'>) => ElectionController;
  readonly news: (born: Born) => NetworkEventsController;
  readonly desk: (born: Born, rooms: Pick<Rooms, 'lease' | 'liveness'>, world: World) => Desk;
  readonly agent: (ports: AgentPorts, options: AgentOptions) => Agent;
  /** Controllers that nobody speaks to, of rooms that only some worlds have. */
  readonly controllers: readonly ((born: Born) => Controller)[];
}

/** Longer than in production: a holder that stands still for a while may keep its lease, which is what some guards are for. */
const LEASE_TIMES = { ttlMs: 10_000, renewMs: 3_000 };

/** All servers of a world sign with the same key. */
const SIGNER = fakeSigner();

export function sha256(text: string): string {
  return hash('sha256', text);
}

function kindsOf(world: World): ReadonlyMap<string, OperationKind> {
  return new Map(world.parts.operationKinds.map((kind) => [kind.name, kind]));
}

/** What every server shows a host of itself. */
export function viewSource(world: World): ConstructorParameters<typeof Desk>[0]['source'] {
  return { parts: world.parts.viewParts, kinds: kindsOf(world) };
}

export const productionParts: Parts = {
  database: (disk) => new MemoryStore(disk),
  client: (store) => store,
  journal: (options) => new Journal(options),
  submit: authorizingSubmit,
  models: MODELS,
  operationKinds: [...OPERATION_KINDS.values()],
  viewParts: VIEW_PARTS,
  drivers: {
    network: ({ program, clock, hasCredentials }, world) =>
      new NetworkDriver({ clock, hasCredentials, backEnds: simulatedBackEnds(new NetworkPort(world, program)) }),
    views: ({ journal, clock }, _world, desk) =>
      new ViewsDriver({ desk, journal, clock, isUnheard: sensesOf(journal.fleet, desk).isUnheard }),
  },
  lease: ({ journal, clock, log, program, url }) =>
    new LeaseController({ journal, clock, log, holder: program.name, url, ...LEASE_TIMES }),
  liveness: ({ journal, clock, log }) => new LivenessController({ journal, clock, log }),
  operations: (born, world, desk) => {
    const { journal, clock, log } = born;
    const drivers = new Map(Object.entries(world.parts.drivers).map(([name, make]) => [name, make(born, world, desk)]));
    return new OperationsController({ journal, clock, log, kinds: kindsOf(world), drivers });
  },
  news: ({ journal, clock, log }) => new NetworkEventsController({ journal, clock, log }),
  election: ({ journal, clock, log, ids }, { desk, liveness }) => {
    const isQuiet = (site: string): boolean => liveness.isQuiet(site);
    const election = new ElectionController({ journal, clock, log, ids, ...sensesOf(journal.fleet, desk), isQuiet });
    desk.onHearing((host) => election.listen(host));
    return election;
  },
  desk: ({ journal, clock, log, program }, { lease, liveness }, world) =>
    new Desk({
      journal,
      clock,
      log,
      // Real ends of waits are spread for the sake of other callers; here that would only be more ticks.
      lookMs: 1000,
      source: viewSource(world),
      liveness: {
        heard: (host) => {
          world.hearing.heard(program.name, host, world.scheduler.nowMs);
          liveness.heard(host);
        },
      },
      hash: sha256,
      holder: () => lease.holder(),
      vouching: new Vouching({
        journalId: () => journal.journalId,
        signer: () => SIGNER,
        servers: () => world.servers.map((server) => server.url),
      }),
    }),
  agent: (ports, options) => new Agent(ports, options),
  controllers: [({ journal, clock, log }) => new DegradedController({ journal, clock, log })],
};
