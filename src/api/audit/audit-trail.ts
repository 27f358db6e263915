// Records refused requests: resolves the token's owner, counts, logs, writes a durable line, and limits callers that probe names.
// It sees every refusal before it is sent and never changes one.
import type { FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { ADDRESS_UNAVAILABLE, isBound, NAME_UNAVAILABLE, type Caller } from '../../access/index.ts';
import type { Clock, Journal } from '../../journal/index.ts';
import type { Authenticator } from '../authenticate.ts';
import { FORWARDED } from '../forward.ts';
import type { Metrics } from '../metrics.ts';
import { NameProbes } from './name-probes.ts';
import type { HttpProblem } from '../problem.ts';
import { RefusalFiles } from './refusal-files.ts';
import { RefusalLog, type CallerClass, type RefusalLine } from './refusal-log.ts';

export interface AuditTrailOptions {
  readonly authenticator: Authenticator;
  readonly journal: Pick<Journal, 'fleet'>;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** How this server is called in the record. */
  readonly server: () => string;
  /** Where lines are kept; without one they are only logged. */
  readonly folder?: string | undefined;
}

const FLUSH_MS = 5000;
/** An answer that sends an agent to the deciding server refuses nothing. */
const MISDIRECTED = 421;
/** Attempts to access what the caller may not: logged as warnings. */
const WARNED = new Set([401, 403, 429]);

export class AuditTrail {
  readonly files: RefusalFiles | undefined;
  readonly #options: AuditTrailOptions;
  readonly #refusals: RefusalLog;
  readonly #probes = new NameProbes();
  readonly #flushing: NodeJS.Timeout;

  constructor(options: AuditTrailOptions) {
    const { folder, log, metrics, server, clock } = options;
    this.#options = options;
    const onLost = (lines: number): void => metrics.countLostRefusals(lines);
    this.files = folder === undefined ? undefined : new RefusalFiles({ folder, log, onLost });
    this.#refusals = new RefusalLog({ server, write: (line, audience) => this.#write(line, audience) });
    this.#flushing = setInterval(() => this.#refusals.flush(clock.nowMs()), FLUSH_MS);
    this.#flushing.unref();
  }

  /** Whose token the request shows, whether or not it is good for anything; undefined for a stranger. */
  callerOf(request: FastifyRequest): Caller | undefined {
    return request.admitted?.known?.caller ?? this.#options.authenticator.identify(request.headers);
  }

  /** Called with every problem that is answered. */
  record(request: FastifyRequest, problem: HttpProblem): void {
    const { status, code } = problem;
    if (status < 400 || status >= 500 || status === MISDIRECTED) return;
    const caller = this.callerOf(request);
    const atMs = this.#options.clock.nowMs();
    if (isNameProbe(code) && caller !== undefined) this.#probes.count(caller, atMs);
    const route = request.admitted?.route.path ?? 'none';
    this.#options.metrics.countRefusal({ method: request.admitted?.route.method ?? 'any', route, code });
    const { method, ip: address, id: requestId, headers } = request;
    this.#refusals.record({
      revision: this.#options.journal.fleet.revision,
      ...{ atMs, caller, address, method, route, status, code, requestId },
      forwarded: headers[FORWARDED] !== undefined,
      ...(isNameProbe(code) && { requestedName: readRequestedName(request.body, problem.field) }),
    });
  }

  /** Before anything is made by a name that the caller chose. */
  demandNameBudget(request: FastifyRequest): void {
    const caller = request.admitted?.caller;
    if (caller !== undefined && isBound(caller)) this.#probes.demandBudget(caller, this.#options.clock.nowMs());
  }

  #write(line: RefusalLine, audience: CallerClass): void {
    this.files?.write(line, audience);
    const { type: _, at: _at, atMs: _atMs, server: _server, ...facts } = line;
    this.#options.log[WARNED.has(line.status) ? 'warn' : 'info'](facts, 'refused');
  }

  async close(): Promise<void> {
    clearInterval(this.#flushing);
    this.#refusals.flush(Infinity);
    await this.files?.close();
  }
}

/** A refusal that reveals something that the caller may not see. */
function isNameProbe(code: string): boolean {
  return code === NAME_UNAVAILABLE || code === ADDRESS_UNAVAILABLE;
}

/** The text that a JSON pointer leads to: the name that was requested, for the record and never for the answer. */
function readRequestedName(body: unknown, field: string | undefined): string | undefined {
  let found: unknown = body;
  for (const part of (field ?? '').split('/').slice(1)) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, part)) return undefined;
    found = (found as Readonly<Record<string, unknown>>)[part];
  }
  return typeof found === 'string' ? found : undefined;
}
