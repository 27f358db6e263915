// A server that is started, crashed, paused and started again. Each start is a life of its own: the real journal, lease
// keeper and engine, reached only through ports that belong to this life.
import { StoreUnavailable, type Clock, type Ids, type Journal } from '../../src/journal/index.ts';
import type { Log } from '../../src/operations/index.ts';
import { SimClock, SimIds } from '../kernel/clock.ts';
import { Program } from '../kernel/program.ts';
import type { Rng } from '../kernel/rng.ts';
import type { Controller } from './parts.ts';
import { StoreLink } from './store-link.ts';
import { StorePort } from './store-port.ts';
import type { World } from './world.ts';

/** One start of a server and what it was given. */
export interface Life {
  readonly program: Program;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly rng: Rng;
  readonly log: Log;
  readonly journal: Journal;
  readonly stop: AbortSignal;
  readonly controllers: readonly Controller[];
  /** The fleet is loaded: requests are taken. */
  open: boolean;
}

const OPEN_RETRY_MS = 500;

export class Server {
  readonly name: string;
  readonly storeLink = new StoreLink();
  readonly #world: World;
  #starts = 0;
  #life: Life | undefined;
  #stopping: AbortController | undefined;
  #ended: Promise<void> | undefined;

  constructor(name: string, world: World) {
    this.name = name;
    this.#world = world;
  }

  /** The running incarnation; undefined while the server is down. */
  get life(): Life | undefined {
    return this.#life;
  }

  start(): void {
    if (this.#life !== undefined) return;
    this.#starts += 1;
    const stop = new AbortController();
    const life = this.#makeLife(`${this.name}.${this.#starts}`, stop.signal);
    this.#life = life;
    this.#stopping = stop;
    this.#world.scheduler.note(life.program.name, 'starts');
    life.journal.onCommit((commit, applied) => this.#world.committed(this, life, commit, applied));
    life.journal.onRebuilt(() => this.#world.rebuilt(life));
    this.#ended = run(life).catch((error: unknown) => {
      const told = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.#world.violate('a server never stops by itself', `${life.program.name}: ${told}`);
    });
  }

  crash(): void {
    this.#life?.program.crash();
    this.#life = undefined;
  }

  /** Stops as an operator stops it: the lease is handed back. It is started again once its program has ended. */
  async restart(afterMs: number): Promise<void> {
    const life = this.#life;
    this.#stopping?.abort();
    await this.#ended;
    if (this.#life === life) this.crash();
    this.#world.scheduler.after(afterMs, `${this.name} is started`, () => this.start());
  }

  #makeLife(name: string, stop: AbortSignal): Life {
    const { scheduler, calls, rng: worldRng, parts, registry, database } = this.#world;
    const rng = worldRng.fork();
    const program = new Program(name, scheduler, calls);
    const clock = new SimClock(program);
    const ids = new SimIds(name, clock, rng.fork());
    const port = new StorePort({ database, program, link: this.storeLink, rng: rng.fork(), witness: this.#world });
    const journal = parts.journal({ store: parts.client(port), registry, clock, ids });
    const log = logInto(this.#world, name);
    const given = { program, clock, ids, rng, log, journal, stop, open: false };
    return { ...given, controllers: parts.controllers.map((make) => make(given, this.#world)) };
  }
}

async function run(life: Life): Promise<void> {
  await open(life);
  life.open = true;
  await Promise.all([
    life.journal.follow(life.stop),
    ...life.controllers.map((controller) => controller.run(life.stop)),
  ]);
}

async function open({ journal, clock, stop }: Life): Promise<void> {
  while (!stop.aborted) {
    try {
      await journal.open();
      return;
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      await clock.sleep(OPEN_RETRY_MS, stop);
    }
  }
}

function logInto(world: World, name: string): Log {
  const say = (_facts: object, message: string): void => world.scheduler.note(name, message);
  const fail = (facts: object, message: string): void => {
    const cause = 'err' in facts && facts.err instanceof Error ? (facts.err.stack ?? facts.err.message) : '';
    world.violate('a program never logs an error', `${name}: ${message} ${cause}`);
  };
  return { info: say, warn: say, error: fail };
}
