// The streams that are open: counted, kept alive, and ended when their token is, or the server.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Streamed } from '../access/index.ts';
import type { Clock } from '../journal/index.ts';
import type { Authenticator } from './authenticate.ts';
import { ResponseOut } from './event-stream.ts';
import { callerOf, shuttingDown } from './gate.ts';
import { HttpProblem } from './problem.ts';

/** Below the idle timeouts of common proxies; also how soon a revoked token's stream ends. */
const HEARTBEAT_MS = 15_000;

export interface StreamsOptions {
  readonly max: number;
  readonly authenticator: Authenticator;
  readonly clock: Clock;
  readonly closing: AbortSignal;
  readonly heartbeatMs?: number | undefined;
}

export class Streams {
  readonly #options: StreamsOptions;
  readonly #open = new Map<ResponseOut, Promise<void>>();
  /** Those that are open, and those that are about to be. */
  #places = 0;

  constructor(options: StreamsOptions) {
    this.#options = options;
  }

  /** Takes a place before anything is waited for, so that many that ask at once are counted, and gives it back after. */
  async withPlace<T>(work: () => Promise<T>): Promise<T> {
    if (this.#places >= this.#options.max) {
      const detail = 'This server has as many streams open as it takes. Close some, or ask another server.';
      throw new HttpProblem({ status: 503, code: 'too-many-streams', detail, headers: { 'retry-after': '5' } });
    }
    this.#places += 1;
    try {
      return await work();
    } finally {
      this.#places -= 1;
    }
  }

  async run(streamed: Streamed, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { authenticator, clock, closing, heartbeatMs = HEARTBEAT_MS } = this.#options;
    if (closing.aborted) throw shuttingDown();
    reply.hijack();
    const { raw } = reply;
    const headers = { 'content-type': streamed.type, 'cache-control': 'no-store', 'x-accel-buffering': 'no' };
    raw.writeHead(200, { ...headers, 'x-request-id': request.id });
    const out = new ResponseOut(raw);
    const alive = setInterval(() => {
      if (authenticator.isStillGood(callerOf(request), clock.nowMs())) out.sendIfIdle(': still here\n\n');
      else out.stop();
    }, heartbeatMs);
    const running = streamed.run(out).finally(() => {
      clearInterval(alive);
      this.#open.delete(out);
      raw.end();
    });
    this.#open.set(out, running);
    await running;
  }

  /** Ends them all; what was sent before is still delivered. */
  async close(): Promise<void> {
    for (const out of this.#open.keys()) out.stop();
    await Promise.allSettled(this.#open.values());
  }
}
