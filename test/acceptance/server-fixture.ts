// One life of a server, for tests: the real journal, lease keeper, engine, elections, liveness and agent gateway, composed from the modules as the program
// does it. It can die between any two of its effects: later effects are never carried out, and answers to open calls are never
// received.
import { hash } from 'node:crypto';
import { AGENT_GATEWAY } from '../../src/agent/module.ts';
import { StatementIssuer, type AgentGateway } from '../../src/agent/runtime.ts';
import { fakeSigner } from '../../src/agent/protocol/signer-fixture.ts';
import { DRIVER_WRAPPER, provide, Runtime, type Composition, type Controller } from '../../src/composition/index.ts';
import type { AppliedChange } from '../../src/fleet/index.ts';
import { LIVENESS_CONTROLLER, LIVENESS_TIMING } from '../../src/hosts/index.ts';
import type { LivenessController } from '../../src/hosts/runtime.ts';
import {
  Journal,
  type Clock,
  type CommitGroup,
  type Ids,
  type LeaseAnswer,
  type LeaseRequest,
} from '../../src/journal/index.ts';
import { MemoryStore, type MemoryDisk } from '../../src/journal/runtime.ts';
import { SECRETS, type OwnKeys } from '../../src/keys/index.ts';
import { NETWORK_DRIVER, NETWORK_EVENTS } from '../../src/network/index.ts';
import {
  NetworkDriver,
  simulatedBackEnds,
  type NetworkEventsController,
  type SimulatedNetwork,
} from '../../src/network/runtime.ts';
import type { Driver, Log } from '../../src/operations/index.ts';
import { LEASE_CONTROLLER } from '../../src/operations/module.ts';
import { coreProviders } from '../../src/main/core-providers.ts';
import { FAKE_SECRETS } from './secrets-fixture.ts';

/** Longer than in production: fewer ticks of the clock that tests move. */
const LEASE_TIMES = { ttlMs: 10_000, renewMs: 3_000 };

/** Scans are frequent where there are many thousands of agents; here they need not be. */
const LOOK_MS = 2000;
/** All servers have one address: agents find the lease holder there. */
export const ADDRESS = 'server';
const SIGNER = fakeSigner();
/** Of a control plane whose keys never change. */
const KEYS: OwnKeys = { serial: 1, signing: ['signing-1'], authorities: ['authority-1'] };
const NEVER: Promise<never> = Promise.withResolvers<never>().promise;

export function sha256(text: string): string {
  return hash('sha256', text, 'hex');
}

/** Whether the server is still alive to call and to receive answers. */
class ServerLife {
  hasEnded = false;
  /** The store does not answer, until set otherwise: the server is alive and cut off. */
  cutOff = false;

  storeEffect<T>(carryOut: () => Promise<T>): Promise<T> {
    return this.cutOff ? NEVER : this.effect(carryOut);
  }

  async effect<T>(carryOut: () => Promise<T>): Promise<T> {
    if (this.hasEnded) return NEVER;
    const done = await carryOut();
    return this.hasEnded ? NEVER : done;
  }
}

class MortalStore extends MemoryStore {
  readonly #life: ServerLife;

  constructor(disk: MemoryDisk, life: ServerLife) {
    super(disk);
    this.#life = life;
  }

  override write(group: CommitGroup): ReturnType<MemoryStore['write']> {
    return this.#life.storeEffect(() => super.write(group));
  }

  override acquireLease(request: LeaseRequest): Promise<LeaseAnswer> {
    return this.#life.storeEffect(() => super.acquireLease(request));
  }

  override renewLease(request: LeaseRequest & { readonly epoch: number }): Promise<LeaseAnswer> {
    return this.#life.storeEffect(() => super.renewLease(request));
  }

  override releaseLease(name: string, epoch: number): Promise<void> {
    return this.#life.storeEffect(() => super.releaseLease(name, epoch));
  }
}

export interface AcceptanceServerParts {
  readonly name: string;
  readonly disk: MemoryDisk;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly network: SimulatedNetwork;
  readonly program: Composition;
  readonly hasCredentials: () => boolean;
  /** Called for every commit before any other listener on this server. */
  readonly onCommit: (server: AcceptanceServer, revision: number, applied: readonly AppliedChange[]) => void;
  /** Called for every order to a back end, before it is sent and after it was carried out. */
  readonly onOrder: (when: 'before' | 'after') => void;
}

export class AcceptanceServer {
  readonly name: string;
  readonly journal: Journal;
  readonly gateway: AgentGateway;
  readonly liveness: LivenessController;
  /** Receives the port events of a back end. */
  readonly tell: NetworkEventsController['enqueue'];
  readonly #life = new ServerLife();
  readonly #stopping = new AbortController();
  readonly #runners: readonly Controller[];

  constructor(parts: AcceptanceServerParts) {
    const { name, disk, clock, ids, log, program } = parts;
    this.name = name;
    const journal = new Journal({
      store: new MortalStore(disk, this.#life),
      registry: program.newRegistry(),
      clock,
      ids,
    });
    this.journal = journal;
    journal.onCommit(({ commit, applied }) => parts.onCommit(this, commit.revision, applied));
    const statements = new StatementIssuer({
      journalId: () => journal.journalId,
      signer: () => SIGNER,
      servers: () => [ADDRESS],
    });
    const core = coreProviders({
      lease: { holder: name, url: () => ADDRESS, ...LEASE_TIMES },
      keys: { ids: () => KEYS },
      credentials: { has: parts.hasCredentials },
      trustedTime: () => () => clock.nowMs(),
      gateway: () => ({ hash: sha256, statements, intervalMs: LOOK_MS }),
    });
    const runtime = new Runtime(program, { journal, clock, ids, log }, [
      ...core,
      provide(SECRETS, () => FAKE_SECRETS),
      provide(LIVENESS_TIMING, () => ({ intervalMs: LOOK_MS })),
      provide(NETWORK_DRIVER, () => this.#networkDriver(parts)),
      provide(DRIVER_WRAPPER, () => (_name, driver) => this.#mortal(driver)),
    ]);
    this.liveness = runtime.get(LIVENESS_CONTROLLER);
    this.gateway = runtime.get(AGENT_GATEWAY);
    this.tell = runtime.get(NETWORK_EVENTS).enqueue;
    this.#runners = [runtime.get(LEASE_CONTROLLER), ...runtime.controllers()];
  }

  #mortal(driver: Driver): Driver {
    return { carryOut: (action, fence) => this.#life.effect(() => driver.carryOut(action, fence)) };
  }

  /** Called around each order. */
  #networkDriver({ clock, network, hasCredentials, onOrder }: AcceptanceServerParts): Driver {
    const driver = new NetworkDriver({ clock, backEnds: simulatedBackEnds(network), hasCredentials });
    return {
      carryOut: async (action, fence) => {
        onOrder('before');
        const outcome = await this.#life.effect(() => driver.carryOut(action, fence));
        onOrder('after');
        return outcome;
      },
    };
  }

  get isDeciding(): boolean {
    return !this.#life.hasEnded && this.journal.fence !== undefined;
  }

  get isAlive(): boolean {
    return !this.#life.hasEnded;
  }

  async start(): Promise<void> {
    await this.journal.open();
    const { signal } = this.#stopping;
    for (const runner of this.#runners) void runner.run(signal);
    void this.journal.follow(signal);
  }

  /** It runs on without its store: its lease expires. */
  cutOff(): void {
    this.#life.cutOff = true;
  }

  /** The server ends here, and notifies no other program. */
  die(): void {
    this.#life.hasEnded = true;
    this.#stopping.abort();
  }
}
