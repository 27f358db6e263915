// A link without a network: the agent's calls go to desks in the same process. For the demo and for fleets of simulated
// hosts; the rules are those of the real one, including whose secret opens what.
import { StoreUnavailable } from '../journal/index.ts';
import type { Speaker } from './admission.ts';
import type { Desk } from './desk.ts';
import type {
  Collect,
  Collected,
  Deposit,
  Deposited,
  Heard,
  Heartbeat,
  Join,
  Joined,
  Observations,
  Observed,
  ViewAnswer,
  ViewAsk,
} from './messages.ts';
import { LinkDown, type Link, type Reply, type Session } from './ports.ts';

export class InProcessLink implements Link {
  readonly #deskAt: (server: string) => Desk | undefined;

  /** `deskAt` finds the desk of a server by its address; undefined while the server is away. */
  constructor(deskAt: (server: string) => Desk | undefined) {
    this.#deskAt = deskAt;
  }

  /** Nobody is authenticated by being in the same process: here, too, it is the signature that counts. */
  isAuthenticated(): boolean {
    return false;
  }

  async join(to: Session, join: Join): Promise<Reply<Joined>> {
    return this.#reached(() => this.#desk(to).join(to.secret, join));
  }

  async heartbeat(to: Session, beat: Heartbeat): Promise<Reply<Heard>> {
    return this.#asSpeaker(to, (desk, speaker) => desk.heartbeat(speaker, beat));
  }

  async view(to: Session, ask: ViewAsk, signal: AbortSignal): Promise<Reply<ViewAnswer>> {
    return this.#untilAborted(signal, () => this.#asSpeaker(to, (desk, speaker) => desk.view(speaker, ask)));
  }

  async deposit(to: Session, deposit: Deposit): Promise<Reply<Deposited>> {
    return this.#asSpeaker(to, (desk, speaker) => desk.deposit(speaker, deposit));
  }

  async collect(to: Session, ask: Collect, signal: AbortSignal): Promise<Reply<Collected>> {
    return this.#untilAborted(signal, () => this.#asSpeaker(to, (desk, speaker) => desk.collect(speaker, ask)));
  }

  async #untilAborted<A>(signal: AbortSignal, ask: () => Promise<A>): Promise<A> {
    if (signal.aborted) throw new LinkDown('the agent stops');
    const { promise: given, reject } = Promise.withResolvers<never>();
    const stop = (): void => reject(new LinkDown('the agent stops'));
    signal.addEventListener('abort', stop, { once: true });
    try {
      return await Promise.race([given, ask()]);
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  async observe(to: Session, observations: Observations): Promise<Reply<Observed>> {
    return this.#asSpeaker(to, (desk, speaker) => desk.observe(speaker, observations));
  }

  async #asSpeaker<A>(
    to: Session,
    ask: (desk: Desk, speaker: Speaker) => Reply<A> | Promise<Reply<A>>,
  ): Promise<Reply<A>> {
    return this.#reached(async () => {
      const desk = this.#desk(to);
      const found = desk.speakerWith(to.secret, 'agent');
      return found.kind === 'answer' ? ask(desk, found.answer) : found;
    });
  }

  #desk({ server }: Session): Desk {
    const desk = this.#deskAt(server);
    if (desk === undefined) throw new LinkDown(`server "${server}" is away`);
    return desk;
  }

  /** A store that does not answer the server is a server that does not answer the agent. */
  async #reached<A>(ask: () => Promise<A>): Promise<A> {
    try {
      return await ask();
    } catch (error) {
      if (error instanceof StoreUnavailable) throw new LinkDown(error.message, { cause: error });
      throw error;
    }
  }
}
