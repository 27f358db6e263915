// What a server is made of. The world uses the production code; a mutant replaces one part of it from outside.
import type { Model } from '../../src/fleet/index.ts';
import { Journal, type JournalOptions, type Store } from '../../src/journal/index.ts';
import { MemoryStore, type MemoryDisk } from '../../src/journal/runtime.ts';
import { operationsModel, type Driver, type OperationKind } from '../../src/operations/index.ts';
import { LeaseController, OperationsController } from '../../src/operations/runtime.ts';
import type { Life } from './server.ts';
import type { World } from './world.ts';

export interface Controller {
  run(signal: AbortSignal): Promise<void>;
}

/** Makes one controller of a server that starts. */
export type MakeController = (life: Omit<Life, 'controllers'>, world: World) => Controller;

export interface Parts {
  /** The database on the shared disk. */
  readonly database: (disk: MemoryDisk) => Store;
  /** What lies between a server's journal and its connection. */
  readonly client: (store: Store) => Store;
  readonly journal: (options: JournalOptions) => Journal;
  readonly models: readonly Model[];
  readonly operationKinds: readonly OperationKind[];
  /** Drivers by name, made for one start of a server. */
  readonly drivers: Readonly<Record<string, (life: Omit<Life, 'controllers'>, world: World) => Driver>>;
  readonly controllers: readonly MakeController[];
}

const leaseController: MakeController = ({ journal, clock, log, program }) =>
  new LeaseController({ journal, clock, log, holder: program.name, url: `sim://${program.name}` });

const operationsController: MakeController = (life, world) => {
  const { journal, clock, log } = life;
  const kinds = new Map(world.parts.operationKinds.map((kind) => [kind.name, kind]));
  const drivers = new Map(Object.entries(world.parts.drivers).map(([name, make]) => [name, make(life, world)]));
  return new OperationsController({ journal, clock, log, kinds, drivers });
};

export const productionParts: Parts = {
  database: (disk) => new MemoryStore(disk),
  client: (store) => store,
  journal: (options) => new Journal(options),
  models: [operationsModel],
  operationKinds: [],
  drivers: {},
  controllers: [leaseController, operationsController],
};
