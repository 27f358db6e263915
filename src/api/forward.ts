// Forwards a write from a follower to the lease holder, with the caller's own token, idempotency key and request id. It is forwarded
// once: a second follower refuses it. A body in lines is forwarded as it comes: what the caller does not send, or cuts, does not arrive there.
import type { X509Certificate } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { StoreUnavailable, type Clock, type Lease, type Store } from '../journal/index.ts';
import { describeCertificateError } from './certificate-error.ts';
import type { BodyStream } from './input/body-stream.ts';
import { PEER_PROOF, type PeerProofs } from './peer-proof.ts';
import { HttpProblem, noHolderProblem, unavailableProblem } from './problem.ts';

const DECIDING_LEASE = 'fleet';
/** How long a look at the lease is good for: far less than a lease lasts. */
const LEASE_CACHE_MS = 500;
/** A time without a lease holder is over soon: another server takes over within a second. */
const NO_HOLDER_CACHE_MS = 50;
const FORWARD_TIMEOUT_MS = 30_000;

export const FORWARDED = 'muster-forwarded';

const FORWARDED_HEADERS = [
  'authorization',
  'x-auth-token',
  'idempotency-key',
  'if-match',
  'content-type',
  'accept',
] as const;
const RETURNED_HEADERS = [
  'content-type',
  'etag',
  'location',
  'muster-revision',
  'retry-after',
  'www-authenticate',
  'allow',
  'cache-control',
  'idempotency-replayed',
];

export interface ForwardedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface ForwardRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body?: unknown;
  /** Instead of a body that is there. */
  readonly stream?: BodyStream;
  readonly requestId: string;
  /** For a call that may take longer than others. */
  readonly timeoutMs?: number;
  /** The certificate that the caller has shown. */
  readonly shown?: X509Certificate | undefined;
}

interface ForwarderOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly ownUrl: () => string | undefined;
  readonly peerProofs?: PeerProofs | undefined;
}

export class Forwarder {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #ownUrl: () => string | undefined;
  readonly #peerProofs: PeerProofs | undefined;
  #cachedLease: { readonly lease: Lease | undefined; readonly untilMs: number } | undefined;
  #pendingRead: Promise<Lease | undefined> | undefined;

  constructor(options: ForwarderOptions) {
    this.#peerProofs = options.peerProofs;
    this.#store = options.store;
    this.#clock = options.clock;
    this.#ownUrl = options.ownUrl;
  }

  /** The lease holder; undefined while there is none. */
  async holder(): Promise<Lease | undefined> {
    if (this.#cachedLease !== undefined && this.#cachedLease.untilMs > this.#clock.nowMs())
      return this.#cachedLease.lease;
    // All requests meanwhile, such as readiness probes of strangers, cost the store one read together.
    this.#pendingRead ??= this.#readLease().finally(() => {
      this.#pendingRead = undefined;
    });
    return this.#pendingRead;
  }

  async #readLease(): Promise<Lease | undefined> {
    const nowMs = this.#clock.nowMs();
    const lease = await this.#store.readLease(DECIDING_LEASE);
    const good = lease !== undefined && lease.expiresInMs > 0;
    this.#cachedLease = good
      ? { lease, untilMs: nowMs + LEASE_CACHE_MS }
      : { lease: undefined, untilMs: nowMs + NO_HOLDER_CACHE_MS };
    return this.#cachedLease.lease;
  }

  async forward(request: ForwardRequest): Promise<ForwardedAnswer> {
    const holder = await this.holder();
    if (holder === undefined || holder.url === this.#ownUrl() || request.headers[FORWARDED] !== undefined)
      throw noHolderProblem();
    const target = targetOf(request.url, holder.url);
    const headers: Record<string, string> = { [FORWARDED]: '1', 'x-request-id': request.requestId };
    for (const name of FORWARDED_HEADERS) {
      const value = request.headers[name];
      if (typeof value === 'string') headers[name] = value;
    }
    const { authorization } = request.headers;
    const proof = request.shown && this.#peerProofs?.prove(request.shown, { authorization, leaseEpoch: holder.epoch });
    if (proof !== undefined) headers[PEER_PROOF] = proof;
    const over = new AbortController();
    const succeeded = this.#abortOnNewHolder(holder, over.signal);
    const { stream, timeoutMs = FORWARD_TIMEOUT_MS } = request;
    const sent = stream === undefined ? undefined : new RelayedBody(stream);
    try {
      const answer = await fetch(target, {
        method: request.method,
        headers,
        redirect: 'manual',
        signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), succeeded]),
        ...(sent !== undefined && { body: sent.chunks, duplex: 'half' }),
        ...(request.body !== undefined && { body: JSON.stringify(request.body) }),
      });
      const back: Record<string, string> = {};
      for (const name of RETURNED_HEADERS) {
        const value = answer.headers.get(name);
        if (value !== null) back[name] = value;
      }
      return { status: answer.status, headers: back, body: await answer.text() };
    } catch (error) {
      // The caller's own fault, not the holder's.
      if (sent?.problem !== undefined) throw sent.problem;
      this.#cachedLease = undefined;
      throw holderUnreachable(error, holder.url);
    } finally {
      over.abort('over');
    }
  }

  /** Aborted when the holder's time is over. One that was paused or cut off never answers, and can commit nothing any more. */
  #abortOnNewHolder(holder: Lease, over: AbortSignal): AbortSignal {
    const succeeded = new AbortController();
    const watchHolder = async (): Promise<void> => {
      while (!over.aborted) {
        await this.#clock.sleep(LEASE_CACHE_MS, over);
        const now = over.aborted ? holder : await this.holder().catch(() => holder); // unknown is not "succeeded"
        if (now?.epoch === holder.epoch) continue;
        succeeded.abort('succeeded');
        return;
      }
    };
    void watchHolder();
    return succeeded.signal;
  }
}

/** A body on its way: what was wrong with it is remembered, since the call that it is part of fails in other words. */
class RelayedBody {
  readonly chunks: BodyStream;
  #problem: HttpProblem | undefined;

  constructor(source: BodyStream) {
    this.chunks = this.#relay(source);
  }

  get problem(): HttpProblem | undefined {
    return this.#problem;
  }

  async *#relay(source: BodyStream): BodyStream {
    try {
      yield* source;
    } catch (error) {
      if (error instanceof HttpProblem) this.#problem = error;
      throw error;
    }
  }
}

/** Path and query at the holder. A request line may name another server's whole URL: that is nowhere we go. */
function targetOf(url: string, holder: string): URL {
  if (!/^\/(?![/\\])/.test(url)) {
    const detail = 'Name a path of this server, such as /api/v1/sites.';
    throw new HttpProblem({ status: 400, code: 'malformed-request', detail });
  }
  return new URL(`${new URL(holder).origin}${url}`);
}

/** A connection that was refused carried nothing; after any other failure it is unknown whether something was written. */
function holderUnreachable(error: unknown, holder: string): Error {
  if (error instanceof StoreUnavailable) return error;
  const { cause } = error as { readonly cause?: { readonly code?: unknown } };
  const trouble = describeCertificateError(cause?.code);
  const outcome = trouble !== undefined || cause?.code === 'ECONNREFUSED' ? 'failed' : 'unknown';
  return unavailableProblem({
    code: 'holder-unreachable',
    detail: detailOf(outcome, holder, trouble),
    facts: { outcome },
  });
}

function detailOf(outcome: 'failed' | 'unknown', holder: string, trouble: string | undefined): string {
  if (trouble !== undefined) {
    return `This server does not talk to ${holder}, which decides: ${trouble}. Nothing was changed.`;
  }
  return outcome === 'failed'
    ? 'The server that decides does not answer. Nothing was changed; try again in a moment.'
    : 'The server that decides did not answer in full. Repeat the request with the same Idempotency-Key.';
}
