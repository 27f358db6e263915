// A server that is started, crashed, paused and started again. Each start is an incarnation of its own: the real journal and controllers,
// reached only through ports that belong to it.
import type { RouteContext as RouteWorld } from '../../src/access/index.ts';
import { Runtime } from '../../src/composition/index.ts';
import { StoreUnavailable, type Clock, type Ids, type Journal } from '../../src/journal/index.ts';
import type { Log } from '../../src/operations/index.ts';
import { LEASE_CONTROLLER } from '../../src/operations/module.ts';
import { SimClock, SimIds } from '../kernel/clock.ts';
import { Program } from '../kernel/program.ts';
import { StoreLink } from './store-link.ts';
import { StorePort } from './store-port.ts';
import type { World } from './world.ts';

/** What an incarnation has before its controllers are made. */
export interface IncarnationContext {
  readonly program: Program;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly journal: Journal;
  /** For requests of callers. */
  readonly submit: RouteWorld['submit'];
  /** The address of this server, whatever its incarnation. */
  readonly url: string;
  /** Whether it has the credentials of the network back ends that need some. */
  readonly hasCredentials: () => boolean;
}

export interface Incarnation extends IncarnationContext {
  readonly runtime: Runtime;
  readonly stop: AbortController;
  /** The fleet is loaded: requests are accepted. */
  open: boolean;
}

const OPEN_RETRY_MS = 500;
/** As few as possible: nearly every group has another behind it. */
const SHARE = 2;

export class Server {
  readonly name: string;
  readonly url: string;
  readonly storeLink = new StoreLink();
  hasCredentials = true;
  #skewMs = 0;
  readonly #world: World;
  #starts = 0;
  #incarnation: Incarnation | undefined;
  #ended: Promise<void> | undefined;

  constructor(name: string, world: World) {
    this.name = name;
    this.url = `sim://${name}`;
    this.#world = world;
  }

  /** The running incarnation; undefined while the server is down. */
  get incarnation(): Incarnation | undefined {
    return this.#incarnation;
  }

  /** The offset of its machine's clock, which survives restarts. */
  get skewMs(): number {
    return this.#skewMs;
  }

  setClock(skewMs: number): void {
    this.#skewMs = skewMs;
    const program = this.#incarnation?.program;
    if (program === undefined) return;
    program.wallSkewMs = skewMs;
    program.skewMs = Math.max(program.skewMs, skewMs);
  }

  start(): void {
    if (this.#incarnation !== undefined) return;
    this.#starts += 1;
    const life = this.#makeIncarnation(`${this.name}.${this.#starts}`);
    this.#incarnation = life;
    this.#world.scheduler.note(life.program.name, 'starts');
    life.journal.onCommit(({ commit, applied }) => this.#world.onCommit(this, life, commit, applied));
    life.journal.onRebuilt(() => this.#world.onRebuilt(life));
    for (const manager of this.#world.managers) if (manager.embeddedIn === this) manager.startIn(life);
    this.#ended = run(life).catch((error: unknown) => {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.#world.violate('a server never stops by itself', `${life.program.name}: ${text}`);
    });
  }

  crash(): void {
    const { disk, rng, scheduler } = this.#world;
    const name = this.#incarnation?.program.name;
    this.#incarnation?.program.crash();
    this.#incarnation = undefined;
    // The operating system of a killed process closes its connections; a dead machine leaves the session to the database.
    if (name === undefined || rng.chance(0.3)) return;
    scheduler.after(rng.between(1, 300), `the database ends the session of ${name}`, () => disk.endSession(name));
  }

  /** Stops like an operator stops it: the lease is released. It is started again once its program has ended. */
  async restart(afterMs: number): Promise<void> {
    const life = this.#incarnation;
    life?.stop.abort();
    await this.#ended;
    if (this.#incarnation === life) this.crash();
    this.#world.scheduler.after(afterMs, `${this.name} is started`, () => this.start());
  }

  #makeIncarnation(name: string): Incarnation {
    const { scheduler, calls, rng: worldRng, parts, registry, database } = this.#world;
    const rng = worldRng.fork();
    const program = new Program(name, scheduler, calls);
    program.skewMs = this.#skewMs;
    program.wallSkewMs = this.#skewMs;
    const clock = new SimClock(program);
    const ids = new SimIds(name, clock, rng.fork());
    const port = new StorePort({ database, program, link: this.storeLink, rng: rng.fork(), witness: this.#world });
    const journal = parts.journal({ store: parts.client(port), registry, clock, ids, writeThreshold: SHARE });
    const log = logInto(this.#world, name);
    const hasCredentials = (): boolean => this.hasCredentials;
    const submit = parts.submit(journal);
    const born: IncarnationContext = { program, clock, ids, log, journal, submit, url: this.url, hasCredentials };
    const { composition } = this.#world;
    const runtime = new Runtime(composition, { journal, clock, ids, log }, parts.providers(born, this.#world));
    return { ...born, runtime, stop: new AbortController(), open: false };
  }
}

async function run(life: Incarnation): Promise<void> {
  await open(life);
  life.open = true;
  const { signal } = life.stop;
  const controllers = [...life.runtime.controllers(), life.runtime.get(LEASE_CONTROLLER)];
  await Promise.all([life.journal.follow(signal), ...controllers.map((controller) => controller.run(signal))]);
}

async function open({ journal, clock, stop: { signal } }: Incarnation): Promise<void> {
  while (!signal.aborted) {
    try {
      await journal.open();
      return;
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      await clock.sleep(OPEN_RETRY_MS, signal);
    }
  }
}

/** A logged error is a bug: nothing in this world may cause one. */
export function logInto(world: World, name: string): Log {
  const say = (_facts: object, message: string): void => world.scheduler.note(name, message);
  const fail = (facts: object, message: string): void => {
    const cause = 'err' in facts && facts.err instanceof Error ? (facts.err.stack ?? facts.err.message) : '';
    world.violate('a program never logs an error', `${name}: ${message} ${cause}`);
  };
  return { info: say, warn: say, error: fail };
}
