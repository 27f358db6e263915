// One life of a server, for tests: the real journal, lease keeper, engine, elections, liveness and desk, put together from the rooms as the
// program does it. It can die between any two of its effects: what it asked for after that is never carried out, and what was
// under way is never heard of.
import { hash } from 'node:crypto';
import { Desk, ViewsDriver, Vouching } from '../../agent/runtime.ts';
import { fakeSigner } from '../../agent/signer-fixture.ts';
import { sensesOf } from '../../election/index.ts';
import { ElectionController } from '../../election/runtime.ts';
import type { Applied } from '../../fleet/index.ts';
import { HostAlarmsController, LivenessController, ScaleInController } from '../../hosts/runtime.ts';
import { Journal, type Clock, type Group, type Ids, type LeaseAnswer, type LeaseRequest } from '../../journal/index.ts';
import { MemoryStore, type MemoryDisk } from '../../journal/runtime.ts';
import {
  NetworkDriver,
  NetworkEventsController,
  simulatedBackEnds,
  type SimulatedNetwork,
} from '../../network/runtime.ts';
import type { Driver, Log } from '../../operations/index.ts';
import { LeaseController, OperationsController } from '../../operations/runtime.ts';
import { EVACUATORS, newRegistry, OPERATION_KINDS, VIEW_PARTS } from '../rooms.ts';

/** Longer than in production: fewer ticks of the clock that tests move. */
const LEASE_TIMES = { ttlMs: 10_000, renewMs: 3_000 };

/** They look often where there are many thousands of agents; here they need not. */
const LOOK_MS = 2000;
/** All servers have one address: agents find whoever decides there. */
export const ADDRESS = 'server';
const SIGNER = fakeSigner();
const NEVER: Promise<never> = Promise.withResolvers<never>().promise;

export function sha256(text: string): string {
  return hash('sha256', text, 'hex');
}

/** Whether somebody is still there to ask for something and to hear of it. */
class Life {
  over = false;
  /** The store does not answer, for as long as nothing says otherwise: the server is there and cut off. */
  cutOff = false;

  stored<T>(carryOut: () => Promise<T>): Promise<T> {
    return this.cutOff ? NEVER : this.effect(carryOut);
  }

  async effect<T>(carryOut: () => Promise<T>): Promise<T> {
    if (this.over) return NEVER;
    const done = await carryOut();
    return this.over ? NEVER : done;
  }
}

class MortalStore extends MemoryStore {
  readonly #life: Life;

  constructor(disk: MemoryDisk, life: Life) {
    super(disk);
    this.#life = life;
  }

  override write(group: Group): ReturnType<MemoryStore['write']> {
    return this.#life.stored(() => super.write(group));
  }

  override acquireLease(request: LeaseRequest): Promise<LeaseAnswer> {
    return this.#life.stored(() => super.acquireLease(request));
  }

  override renewLease(request: LeaseRequest & { readonly epoch: number }): Promise<LeaseAnswer> {
    return this.#life.stored(() => super.renewLease(request));
  }

  override releaseLease(name: string, epoch: number): Promise<void> {
    return this.#life.stored(() => super.releaseLease(name, epoch));
  }
}

export interface ServerParts {
  readonly name: string;
  readonly disk: MemoryDisk;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly network: SimulatedNetwork;
  readonly hasCredentials: () => boolean;
  /** Told of every commit before anybody else on this server is. */
  readonly committed: (server: Server, revision: number, applied: readonly Applied[]) => void;
  /** Told of every order to a back end, before it is given and after it was carried out. */
  readonly driving: (when: 'before' | 'after') => void;
}

export class Server {
  readonly name: string;
  readonly journal: Journal;
  readonly desk: Desk;
  readonly liveness: LivenessController;
  /** Takes what a back end says of ports. */
  readonly tell: NetworkEventsController['tell'];
  readonly #life = new Life();
  readonly #stopping = new AbortController();
  readonly #runners: readonly { run(signal: AbortSignal): Promise<void> }[];

  constructor(parts: ServerParts) {
    const { name, disk, clock, ids, log } = parts;
    this.name = name;
    const journal = new Journal({ store: new MortalStore(disk, this.#life), registry: newRegistry(), clock, ids });
    this.journal = journal;
    journal.onCommit(({ revision }, applied) => parts.committed(this, revision, applied));
    const lease = new LeaseController({ journal, clock, log, holder: name, url: ADDRESS, ...LEASE_TIMES });
    const liveness = new LivenessController({ journal, clock, log, lookMs: LOOK_MS });
    this.liveness = liveness;
    this.desk = new Desk({
      journal,
      clock,
      log,
      source: { parts: VIEW_PARTS, kinds: OPERATION_KINDS },
      liveness,
      hash: sha256,
      holder: () => lease.holder(),
      vouching: new Vouching({ journalId: () => journal.journalId, signer: () => SIGNER, servers: () => [ADDRESS] }),
      lookMs: LOOK_MS,
    });
    const news = new NetworkEventsController({ journal, clock, log });
    this.tell = news.tell;
    const senses = { ...sensesOf(journal.fleet, this.desk), isQuiet: (site: string) => liveness.isQuiet(site) };
    const { isUnheard } = senses;
    const drivers = new Map([
      ['network', this.#driver(parts)],
      ['views', this.#mortal(new ViewsDriver({ desk: this.desk, journal, clock, isUnheard }))],
    ]);
    const engine = new OperationsController({ journal, clock, log, kinds: OPERATION_KINDS, drivers });
    const common = { journal, clock, log, ids };
    const election = new ElectionController({ ...common, ...senses });
    this.desk.onHearing((host) => election.listen(host));
    const scaleIn = new ScaleInController({ ...common, evacuators: EVACUATORS });
    const hostAlarms = new HostAlarmsController({ ...common, lastReportMs: this.desk.removedReportMs });
    this.#runners = [lease, engine, news, liveness, this.desk, election, scaleIn, hostAlarms];
  }

  #mortal(driver: Driver): Driver {
    return { carryOut: (action, fence) => this.#life.effect(() => driver.carryOut(action, fence)) };
  }

  #driver(parts: ServerParts): Driver {
    const { clock, network, hasCredentials, driving } = parts;
    const driver = new NetworkDriver({ clock, backEnds: simulatedBackEnds(network), hasCredentials });
    return {
      carryOut: (action, fence) =>
        this.#life.effect(async () => {
          driving('before');
          const outcome = await this.#life.effect(() => driver.carryOut(action, fence));
          driving('after');
          return outcome;
        }),
    };
  }

  get decides(): boolean {
    return !this.#life.over && this.journal.fence !== undefined;
  }

  get isAlive(): boolean {
    return !this.#life.over;
  }

  async start(): Promise<void> {
    await this.journal.open();
    const { signal } = this.#stopping;
    for (const runner of this.#runners) void runner.run(signal);
    void this.journal.follow(signal);
  }

  /** It goes on and hears nothing of its store any more: its lease runs out. */
  cutOff(): void {
    this.#life.cutOff = true;
  }

  /** Here it ends, without a word to anybody. */
  die(): void {
    this.#life.over = true;
    this.#stopping.abort();
  }
}
