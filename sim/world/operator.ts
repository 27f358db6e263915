// People and programs that ask: they send a command to some server, try another one when it does not decide, and keep
// a record of what they were told. They never crash, and they believe every answer.
import { NotHolder, StoreUnavailable, type Outcome, type Request } from '../../src/journal/index.ts';
import { SimClock } from '../kernel/clock.ts';
import { Program } from '../kernel/program.ts';
import type { Link } from './link.ts';
import type { Life, Server } from './server.ts';
import type { World } from './world.ts';

export interface Command<A> {
  /** Unique in the world; commits made for it carry it as `by`. */
  readonly tag: string;
  /** Made at the server that takes it in, as an API route would. */
  readonly request: (life: Life) => Request<A>;
  /** Done at most once however often it arrives; an accepted one is exactly one commit. */
  readonly once: boolean;
}

export interface Asked {
  readonly tag: string;
  readonly once: boolean;
  readonly sentAtStep: number;
  /** How often a server took it in. */
  arrivals: number;
  /** Set once it is answered for good. */
  answered?: { readonly atStep: number; readonly outcome: Outcome<unknown> };
}

type Answer =
  | { readonly kind: 'outcome'; readonly outcome: Outcome<unknown> }
  | { readonly kind: 'try-again' }
  | { readonly kind: 'unknown' };

/** As long as a client waits for one answer. */
const PATIENCE_MS = 9000;
const TRIES_MAX = 12;

export class Operator {
  readonly #world: World;
  readonly #program: Program;
  readonly #clock: SimClock;
  readonly link: Link;

  constructor(name: string, world: World, link: Link) {
    this.#world = world;
    this.#program = new Program(name, world.scheduler, world.calls);
    this.#clock = new SimClock(this.#program);
    this.link = link;
  }

  pause(ms: number): Promise<void> {
    return this.#clock.sleep(ms);
  }

  /** Asks until somebody decides. Undefined when nobody did, or it stayed unknown whether it was done. */
  async ask<A>(command: Command<A>): Promise<Outcome<A> | undefined> {
    const { scheduler, rng, servers, asked } = this.#world;
    const record: Asked = { tag: command.tag, once: command.once, arrivals: 0, sentAtStep: scheduler.steps };
    asked.push(record);
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const answer = await this.#try(command, rng.pick(servers), record);
      if (answer.kind === 'outcome') {
        record.answered = { atStep: scheduler.steps, outcome: answer.outcome };
        return answer.outcome as Outcome<A>;
      }
      // Of a command that cannot tell a repetition nobody may send a second one.
      if (answer.kind === 'unknown' && !command.once) return undefined;
      await this.#clock.sleep(rng.between(50, 1500));
    }
    return undefined;
  }

  #try<A>(command: Command<A>, to: Server, record: Asked): Promise<Answer> {
    const message = {
      label: `command ${command.tag}`,
      to,
      repeatable: command.once,
      serve: (life: Life) => {
        record.arrivals += 1;
        return decide(life, command);
      },
    };
    return this.#program.call<Answer>('link', `ask ${to.name} ${command.tag}`, (reply) => {
      const patience = reply.answer(PATIENCE_MS, { kind: 'unknown' });
      this.link.send(message, (answer) => {
        patience.cancel();
        reply.answer(0, answer);
      });
    });
  }
}

async function decide<A>(life: Life, command: Command<A>): Promise<Answer> {
  if (!life.open) return { kind: 'try-again' };
  try {
    return { kind: 'outcome', outcome: await life.journal.submit(command.request(life)) };
  } catch (error) {
    if (error instanceof NotHolder) return { kind: 'try-again' };
    if (!(error instanceof StoreUnavailable)) throw error;
    return error.outcome === 'unknown' ? { kind: 'unknown' } : { kind: 'try-again' };
  }
}
