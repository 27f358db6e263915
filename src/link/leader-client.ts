// A caller's way to the lease holder: it follows a server that names the holder, and goes through the configured ones
// when no server answers. It must never depend on one server's memory of who leads.
import { mark } from '../fleet/index.ts';
import type { Log } from '../operations/index.ts';
import { isDowngrade, originOf } from './server-address.ts';
import { LinkDown, type Reply, type CallTarget } from './call.ts';

/** `via` is the server that said it. */
type FinalReply<A> = Exclude<Reply<A>, { kind: 'elsewhere' }> & { readonly via: string };
export type CallResult<A> =
  | FinalReply<A>
  /** No server answered; one of them may have said when to try again. */
  | { readonly kind: 'away'; readonly retryAfterMs?: number };

type Redirect = Extract<Reply<never>, { kind: 'elsewhere' }>;

/** Whether the control plane stands behind a server that another one names, be it by a list or by a statement. */
export type IsTrustedHolder = (holder: string, statement: Redirect['statement']) => boolean;

/** Servers that name each other in turn are not followed for ever. */
const REDIRECTS_MAX = 3;
const NO_HOLDER = 'it names no lease holder that may be followed';

export class LeaderClient {
  readonly #servers: readonly string[];
  readonly #log: Log;
  #at = 0;
  #current: string;
  #isUnreachable = false;
  /** Why each server did not answer last, while none does: each reason is logged once. */
  readonly #reasons = new Map<string, string>();
  /** The last one that was named and not followed: it is logged once. */
  #rejectedHolder: string | undefined;
  readonly #isTrustedHolder: IsTrustedHolder;

  constructor(servers: readonly string[], log: Log, isTrustedHolder: IsTrustedHolder = () => false) {
    const [first] = servers;
    if (first === undefined) throw new Error('a program that dials needs the address of a server');
    this.#servers = servers;
    this.#current = first;
    this.#log = log;
    this.#isTrustedHolder = isTrustedHolder;
  }

  /** The server that is tried next. */
  get server(): string {
    return this.#current;
  }

  get isUnreachable(): boolean {
    return this.#isUnreachable;
  }

  /** `signal` is the one that ends the call from this side: that says nothing about the server. */
  async call<A>(
    secret: string,
    call: (to: CallTarget) => Promise<Reply<A>>,
    signal?: AbortSignal,
  ): Promise<CallResult<A>> {
    for (let followed = 0; followed <= REDIRECTS_MAX; followed += 1) {
      const server = this.#current;
      const reply = await this.#try(call, { server, secret });
      if (reply instanceof LinkDown)
        return signal?.aborted === true ? { kind: 'away' } : this.#moveToNext(server, reply);
      if (reply.kind !== 'elsewhere') return this.#markReached({ ...reply, via: server });
      if (reply.holder === undefined || reply.holder === server)
        return this.#moveToNext(server, { message: NO_HOLDER });
      if (!this.#canFollow(server, reply.holder, reply.statement))
        return this.#moveToNext(server, { message: NO_HOLDER });
      mark('agent-follows-holder');
      if (this.#current === server) this.#current = reply.holder;
    }
    return this.#moveToNext(this.#current, { message: NO_HOLDER });
  }

  async #try<A>(call: (to: CallTarget) => Promise<Reply<A>>, to: CallTarget): Promise<Reply<A> | LinkDown> {
    try {
      return await call(to);
    } catch (error) {
      if (!(error instanceof LinkDown)) throw error;
      return error;
    }
  }

  /** Any machine on the way can send a redirect; the secret goes only where the operator or the control plane sends it. */
  #canFollow(from: string, holder: string, statement: Redirect['statement']): boolean {
    const isConfigured = this.#servers.some((server) => originOf(server) === originOf(holder));
    const isNamed = isConfigured || this.#isTrustedHolder(holder, statement);
    const because = isDowngrade(from, holder) ? 'https-to-http' : isNamed ? undefined : 'not-named-by-control-plane';
    if (because === undefined) return true;
    mark('agent-rejects-redirect');
    if (this.#rejectedHolder !== holder)
      this.#log.warn({ server: from, holder, because }, 'a server names a lease holder that is not followed');
    this.#rejectedHolder = holder;
    return false;
  }

  #markReached<A>(reply: FinalReply<A>): CallResult<A> {
    if (this.#isUnreachable) this.#log.info({ server: this.#current }, 'the server is back');
    this.#isUnreachable = false;
    this.#reasons.clear();
    return reply;
  }

  /** The next configured server is tried next; unless another call has moved on already. */
  #moveToNext(
    server: string,
    { message: reason, retryAfterMs }: Pick<LinkDown, 'message'> & Partial<Pick<LinkDown, 'retryAfterMs'>>,
  ): CallResult<never> {
    if (this.#reasons.get(server) !== reason)
      this.#log.warn({ server, reason }, 'a server does not answer; trying the next one');
    this.#reasons.set(server, reason);
    this.#isUnreachable = true;
    if (this.#current === server) {
      this.#at = (this.#at + 1) % this.#servers.length;
      this.#current = this.#servers[this.#at] ?? server;
    }
    return { kind: 'away', ...(retryAfterMs !== undefined && { retryAfterMs }) };
  }
}
