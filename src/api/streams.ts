// The open streams: counted, kept alive, and ended when their token or the server ends. A stream is ended in the
// commit that ends its token: nothing that is committed after it is sent.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { permits, TOKEN, type StreamAnswer } from '../access/index.ts';
import type { Clock, Journal } from '../journal/index.ts';
import type { Authenticator, CallerState } from './authenticate.ts';
import { ResponseSink } from './response-sink.ts';
import { callerOf, shuttingDownProblem } from './request-admission.ts';
import type { ServerLimits } from './limits/limits.ts';
import { HttpProblem } from './problem.ts';

/** Below the idle timeouts of common proxies. */
const KEEP_ALIVE_MS = 15_000;
/** Timers count milliseconds in 31 bits; a token that expires later is checked again then. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** The only form in which a comment means nothing. */
const EVENT_STREAM = 'text/event-stream';

export interface StreamsOptions {
  readonly limits: Pick<ServerLimits, 'streams' | 'streamsPerToken' | 'streamsAdminShare'>;
  readonly authenticator: Authenticator;
  readonly clock: Clock;
  readonly closing: AbortSignal;
  readonly keepAliveMs?: number | undefined;
}

interface OpenStream {
  readonly known: CallerState | undefined;
  readonly running: Promise<void>;
}

export class Streams {
  readonly #options: StreamsOptions;
  readonly #open = new Map<ResponseSink, OpenStream>();
  /** Those that are open, and those that are about to be. */
  #slots = 0;

  constructor(options: StreamsOptions) {
    this.#options = options;
  }

  /** Ends streams as soon as the journal ends their tokens. */
  follow(journal: Journal): () => void {
    const stops = [
      journal.onCommit(({ applied }) => {
        if (applied.some(({ kind }) => kind === TOKEN.name)) this.#endUnauthorized();
      }),
      journal.onRebuilt(() => this.#endUnauthorized()),
    ];
    return () => stops.forEach((stop) => stop());
  }

  /** Takes a place before anything is waited for, so that many requests at once are counted, and releases it afterwards. */
  async withSlot<T>(request: FastifyRequest, work: () => Promise<T>): Promise<T> {
    const usage = request.admitted?.known?.usage;
    this.#enforceLimits(request, usage?.streams ?? 0);
    this.#slots += 1;
    if (usage !== undefined) usage.streams += 1;
    try {
      return await work();
    } finally {
      this.#slots -= 1;
      if (usage !== undefined) usage.streams -= 1;
    }
  }

  #enforceLimits(request: FastifyRequest, ofToken: number): void {
    const { streams, streamsPerToken, streamsAdminShare } = this.#options.limits;
    const headers = { 'retry-after': '5' };
    if (ofToken >= streamsPerToken) {
      const detail = `Your token has ${ofToken} streams open, as many as one token may have. Close some, or use one stream for several kinds.`;
      throw new HttpProblem({ status: 429, code: 'too-many-streams', detail, headers });
    }
    const places = permits(callerOf(request), 'admin') ? streams : streams - Math.floor(streams * streamsAdminShare);
    if (this.#slots < places) return;
    const detail = 'This server has as many streams open as it takes. Close some, or ask another server.';
    throw new HttpProblem({ status: 503, code: 'too-many-streams', detail, headers });
  }

  async run(streamed: StreamAnswer, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { closing, keepAliveMs = KEEP_ALIVE_MS } = this.#options;
    if (closing.aborted) throw shuttingDownProblem();
    reply.hijack();
    const { raw } = reply;
    const headers = { 'content-type': streamed.type, 'cache-control': 'no-store', 'x-accel-buffering': 'no' };
    raw.writeHead(200, { ...headers, 'x-request-id': request.id });
    const out = new ResponseSink(raw);
    const known = request.admitted?.known;
    const alive = setInterval(() => {
      if (!this.#isAuthorized(known)) out.stop();
      else if (streamed.type === EVENT_STREAM) out.sendIfIdle(': keep-alive\n\n');
    }, keepAliveMs);
    void this.#stopAtExpiry(out, known);
    const running = streamed.run(out).finally(() => {
      clearInterval(alive);
      this.#open.delete(out);
      out.stop();
      raw.end();
    });
    this.#open.set(out, { known, running });
    // The token may have ended while the handler was waited for.
    if (!this.#isAuthorized(known)) out.stop();
    await running;
  }

  #isAuthorized(known: CallerState | undefined): boolean {
    const { authenticator, clock } = this.#options;
    return known === undefined || authenticator.isStillValid(known, clock.nowMs());
  }

  #endUnauthorized(): void {
    for (const [out, { known }] of this.#open) if (!this.#isAuthorized(known)) out.stop();
  }

  async #stopAtExpiry(out: ResponseSink, known: CallerState | undefined): Promise<void> {
    const { clock } = this.#options;
    const expiresAtMs = known?.token.doc.expiresAtMs;
    if (expiresAtMs === undefined) return;
    while (!out.closed.aborted) {
      const leftMs = expiresAtMs - clock.nowMs();
      if (leftMs <= 0) out.stop();
      else await clock.sleep(Math.min(leftMs, TIMER_MAX_MS), out.closed);
    }
  }

  /** Ends them all; what was sent before is still delivered. */
  async close(): Promise<void> {
    for (const out of this.#open.keys()) out.stop();
    await Promise.allSettled([...this.#open.values()].map(({ running }) => running));
  }
}
