// The path of a message to a server and of its answer back. Faults set the parameters; the fate of each message is drawn.
import type { Rng } from '../kernel/rng.ts';
import type { Incarnation, Server } from './server.ts';
import type { World } from './world.ts';

export interface LinkMessage<T> {
  readonly label: string;
  readonly to: Server;
  /** Runs in the incarnation that the server has when the message arrives. */
  readonly serve: (life: Incarnation) => Promise<T>;
  /** It may arrive twice: only for requests that recognise a repetition. */
  readonly repeatable: boolean;
  /** Even a minute later: only for requests that name the tenure they belong to. */
  readonly mayBeLate?: boolean;
}

const LATE_MS = 60_000;

export class Link {
  cut = false;
  slowMs = 0;
  losePercent = 0;
  repeatPercent = 0;
  /** The share that arrives once more, long after the first time; of those that may. */
  latePercent = 0;
  /** How many of a hundred messages reach an arbitrary server, as behind a careless load balancer. */
  misroutePercent = 0;
  readonly #world: World;
  readonly #rng: Rng;

  constructor(world: World) {
    this.#world = world;
    this.#rng = world.rng.fork();
  }

  heal(): void {
    this.cut = false;
    this.slowMs = 0;
    this.losePercent = 0;
    this.repeatPercent = 0;
    this.latePercent = 0;
    this.misroutePercent = 0;
  }

  /** The server that a message really reaches. */
  route(server: Server): Server {
    if (!this.#draw(this.misroutePercent)) return server;
    this.#world.fault('link', 'message misrouted');
    return this.#rng.pick(this.#world.servers);
  }

  send<T>(message: LinkMessage<T>, onAnswer: (answer: T) => void): void {
    this.#travel(message, onAnswer);
    if (message.repeatable && this.#draw(this.repeatPercent)) {
      this.#world.fault('link', `${message.label} repeated`);
      this.#travel(message, onAnswer);
    }
    if (message.mayBeLate !== true || !this.#draw(this.latePercent)) return;
    this.#world.fault('link', `${message.label} comes again, late`);
    this.#world.scheduler.after(this.#rng.between(2000, LATE_MS), `${message.label} is still on its way`, () =>
      this.#travel(message, onAnswer),
    );
  }

  #travel<T>(message: LinkMessage<T>, onAnswer: (answer: T) => void): void {
    const { label, to } = message;
    if (this.#isLost(label)) return;
    const { scheduler } = this.#world;
    scheduler.after(this.#delay(), `${label} arrives at ${to.name}`, () => {
      const { incarnation } = to;
      if (incarnation === undefined) return;
      // The incarnation's own program receives it: a paused one does so late, a dead one never.
      scheduler.after(
        0,
        `${label} taken in`,
        () => void this.#serve(message, incarnation, onAnswer),
        incarnation.program,
      );
    });
  }

  async #serve<T>({ label, serve }: LinkMessage<T>, life: Incarnation, onAnswer: (answer: T) => void): Promise<void> {
    const answer = await serve(life);
    if (!life.program.alive || this.#isLost(`answer to ${label}`)) return;
    this.#world.scheduler.after(this.#delay(), `answer to ${label} arrives`, () => onAnswer(answer));
  }

  #isLost(label: string): boolean {
    if (!this.cut && !this.#draw(this.losePercent)) return false;
    this.#world.fault('link', `${label} lost`);
    return true;
  }

  #draw(percent: number): boolean {
    return percent > 0 && this.#rng.chance(percent / 100);
  }

  #delay(): number {
    return 1 + this.#rng.below(4) + (this.slowMs === 0 ? 0 : this.#rng.below(this.slowMs));
  }
}
