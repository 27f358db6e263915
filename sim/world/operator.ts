// Clients: they send a command to some server, try another one when it does not decide, and record the answers. They never crash, and they
// believe every answer.
import { NotHolder, StoreUnavailable, type Outcome, type Request } from '../../src/journal/index.ts';
import { SimClock } from '../kernel/clock.ts';
import { Program } from '../kernel/program.ts';
import type { Link } from './link.ts';
import type { Incarnation, Server } from './server.ts';
import type { World } from './world.ts';

export interface OperatorCommand<A> {
  /** Unique in the world; commits made for it carry it as `by`. */
  readonly tag: string;
  /** Created at the server that receives it, as an API route would. */
  readonly request: (life: Incarnation) => Request<A>;
  /** Done at most once however often it arrives; an accepted one is exactly one commit. */
  readonly once: boolean;
}

/** A request to a server that needs more than one decision. */
export interface ServerRequest {
  readonly tag: string;
  readonly serve: (life: Incarnation) => Promise<Outcome<unknown>>;
}

export interface RequestRecord {
  readonly tag: string;
  readonly once: boolean;
  readonly sentAtStep: number;
  /** How often a server received it. */
  arrivals: number;
  /** Set once it has its final answer. */
  answered?: { readonly atStep: number; readonly outcome: Outcome<unknown> };
}

type Answer =
  | { readonly kind: 'outcome'; readonly outcome: Outcome<unknown> }
  | { readonly kind: 'try-again' }
  | { readonly kind: 'unknown' };

/** A client's timeout for one answer. */
const ANSWER_TIMEOUT_MS = 9000;
const TRIES_MAX = 12;

export class Operator {
  readonly #world: World;
  readonly #program: Program;
  readonly #clock: SimClock;
  readonly link: Link;

  readonly name: string;

  constructor(name: string, world: World, link: Link) {
    this.name = name;
    this.#world = world;
    this.#program = new Program(name, world.scheduler, world.calls);
    this.#clock = new SimClock(this.#program);
    this.link = link;
  }

  pause(ms: number): Promise<void> {
    return this.#clock.sleep(ms);
  }

  /** Retries until it is decided. Undefined when it never was, or it stayed unknown whether it was done. */
  async ask<A>(command: OperatorCommand<A>): Promise<Outcome<A> | undefined> {
    const { tag, once, request } = command;
    const outcome = await this.#insist({ tag, serve: (life) => life.journal.submit(request(life)) }, once);
    return outcome as Outcome<A> | undefined;
  }

  /** As above, where a repetition is recognised by what it finds. */
  askServer(command: ServerRequest): Promise<Outcome<unknown> | undefined> {
    return this.#insist(command, true);
  }

  async #insist(command: ServerRequest, once: boolean): Promise<Outcome<unknown> | undefined> {
    const { scheduler, rng, servers, requests } = this.#world;
    const record: RequestRecord = { tag: command.tag, once, arrivals: 0, sentAtStep: scheduler.steps };
    requests.push(record);
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const answer = await this.#try(command, rng.pick(servers), record);
      if (answer.kind === 'outcome') {
        record.answered = { atStep: scheduler.steps, outcome: answer.outcome };
        return answer.outcome;
      }
      // A command that cannot recognise a repetition must not be sent twice.
      if (answer.kind === 'unknown' && !once) return undefined;
      await this.#clock.sleep(rng.between(50, 1500));
    }
    return undefined;
  }

  #try(command: ServerRequest, to: Server, record: RequestRecord): Promise<Answer> {
    const message = {
      label: `command ${command.tag}`,
      to,
      repeatable: record.once,
      serve: (life: Incarnation) => {
        record.arrivals += 1;
        return decide(life, command);
      },
    };
    return this.#program.call<Answer>('link', `ask ${to.name} ${command.tag}`, (reply) => {
      const patience = reply.answer(ANSWER_TIMEOUT_MS, { kind: 'unknown' });
      this.link.send(message, (answer) => {
        patience.cancel();
        reply.answer(0, answer);
      });
    });
  }
}

async function decide(life: Incarnation, command: ServerRequest): Promise<Answer> {
  if (!life.open) return { kind: 'try-again' };
  try {
    return { kind: 'outcome', outcome: await command.serve(life) };
  } catch (error) {
    if (error instanceof NotHolder) return { kind: 'try-again' };
    if (!(error instanceof StoreUnavailable)) throw error;
    return error.outcome === 'unknown' ? { kind: 'unknown' } : { kind: 'try-again' };
  }
}
