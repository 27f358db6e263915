// Sends answers: headers and text, and records them for metrics and the log. That is done here and not in a hook after the
// response, which would cost as much as the rest of a small answer.
import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { ANONYMOUS, type Answer } from '../access/index.ts';
import type { ForwardedAnswer } from './forward.ts';
import { composeEntityTag, shortenJournalId } from './input/entity-tag.ts';
import type { Metrics } from './metrics.ts';
import type { AuditTrail } from './audit/audit-trail.ts';
import { PROBLEM_TYPE, type HttpProblem } from './problem.ts';
import { restconfProblem, YANG_JSON } from './restconf/errors.ts';

const JSON_TYPE = 'application/json; charset=utf-8';
/** The status of an answer that has no body, and no length either. */
const NO_CONTENT = 204;
const NOT_MODIFIED = 304;

/** What an answer says of the state that it shows. */
interface StateHeaders {
  readonly revision: number;
  readonly etag: string | undefined;
}

export class ReplyWriter {
  readonly #metrics: Metrics;
  readonly #log: Logger;
  readonly #trail: AuditTrail;
  readonly #journal: string;

  constructor(options: {
    readonly metrics: Metrics;
    readonly log: Logger;
    readonly trail: AuditTrail;
    readonly journalId: string;
  }) {
    this.#metrics = options.metrics;
    this.#log = options.log;
    this.#trail = options.trail;
    this.#journal = shortenJournalId(options.journalId);
  }

  sendAnswer(reply: FastifyReply, answer: Answer, revision: number): FastifyReply {
    const { request } = reply;
    const etag = this.#tagOf(answer.etag);
    const isNotModified = etag !== undefined && answer.status === 200 && request.headers['if-none-match'] === etag;
    if (isPlain(answer) && !isNotModified) return this.#sendPlain(reply, answer, { revision, etag });
    void reply
      .code(answer.status)
      .header('content-type', answer.type ?? JSON_TYPE)
      .header('x-request-id', request.id)
      .header('muster-revision', revision);
    if (answer.headers !== undefined) void reply.headers(answer.headers);
    if (etag !== undefined) void reply.header('etag', etag);
    if (isNotModified) return this.#send(reply.code(304), '');
    const text = answer.text ?? JSON.stringify(answer.body ?? {});
    if (answer.secrets === undefined) return this.#send(reply, text);
    const secrets = JSON.stringify(answer.secrets).slice(1);
    return this.#send(reply.header('cache-control', 'no-store'), `${text.slice(0, -1)},${secrets}`);
  }

  #tagOf(revision: number | undefined): string | undefined {
    return revision === undefined ? undefined : composeEntityTag({ revision, journal: this.#journal });
  }

  /** The headers of an answer whose text comes in pieces. False when they are all of it. */
  begin(reply: FastifyReply, { status, type, etag, headers: more }: Answer, revision: number): boolean {
    const { request, raw } = reply;
    const tag = this.#tagOf(etag);
    const isNotModified = tag !== undefined && request.headers['if-none-match'] === tag;
    const stamps = {
      'x-request-id': request.id,
      'muster-revision': String(revision),
      ...(tag !== undefined && { etag: tag }),
    };
    void reply.hijack();
    raw.writeHead(isNotModified ? NOT_MODIFIED : status, {
      'content-type': type === undefined ? JSON_TYPE : `${type}; charset=utf-8`,
      ...stamps,
      ...more,
    });
    this.recordRequest(request, raw.statusCode);
    if (!isNotModified && request.method !== 'HEAD') return true;
    this.end(reply);
    return false;
  }

  /** There is no more of an answer that was begun. */
  end({ request, raw }: FastifyReply): void {
    raw.end();
    releaseSlot(request, raw);
  }

  /** Written straight to the response: nothing that Fastify would do for it is left to do. */
  #sendPlain(
    reply: FastifyReply,
    { status, text, body, headers: more }: Answer,
    { revision, etag }: StateHeaders,
  ): FastifyReply {
    const { request, raw } = reply;
    this.recordRequest(request, status);
    void reply.hijack();
    const sent = text ?? JSON.stringify(body ?? {});
    const headers = [
      'content-type',
      JSON_TYPE,
      'x-request-id',
      request.id,
      'muster-revision',
      String(revision),
      'content-length',
      String(Buffer.byteLength(sent)),
    ];
    if (etag !== undefined) headers.push('etag', etag);
    for (const name in more) headers.push(name, more[name] as string);
    raw.writeHead(status, headers);
    raw.end(request.method === 'HEAD' ? undefined : sent);
    releaseSlot(request, raw);
    return reply;
  }

  sendProblem(reply: FastifyReply, problem: HttpProblem): FastifyReply {
    const { id } = reply.request;
    this.#trail.record(reply.request, problem);
    if (isRestconf(reply.request)) return this.#sendRestconfProblem(reply, problem);
    void reply
      .code(problem.status)
      .headers(problem.headers)
      .header('content-type', PROBLEM_TYPE)
      .header('x-request-id', id);
    return this.#send(reply, JSON.stringify(problem.body(id)));
  }

  #sendRestconfProblem(reply: FastifyReply, problem: HttpProblem): FastifyReply {
    const { status, body } = restconfProblem(problem);
    void reply
      .code(status)
      .headers(problem.headers)
      .header('content-type', YANG_JSON)
      .header('x-request-id', reply.request.id);
    return this.#send(reply, JSON.stringify(body));
  }

  /** What another server has answered. */
  relay(reply: FastifyReply, { status, headers, body }: ForwardedAnswer): FastifyReply {
    return this.#send(reply.code(status).headers(headers).header('x-request-id', reply.request.id), body);
  }

  #send(reply: FastifyReply, text: string): FastifyReply {
    const { request } = reply;
    this.recordRequest(request, reply.statusCode);
    void reply.send(text);
    releaseSlot(request, reply.raw);
    return reply;
  }

  recordRequest(request: FastifyRequest, status: number): void {
    const { admitted } = request;
    const ms = admitted === undefined ? 0 : performance.now() - admitted.startedMs;
    this.#metrics.requests.observe(admitted?.route, status, ms);
    if (this.#log.isLevelEnabled('debug')) this.#log.debug(this.#accessFacts(request, status, ms), 'answered');
  }

  /** The path without its query, and whose token it was: nothing of what was sent or answered. */
  #accessFacts(request: FastifyRequest, status: number, ms: number): object {
    const { method, url, id: requestId, ip } = request;
    const by = this.#trail.callerOf(request)?.name ?? ANONYMOUS.name;
    return { requestId, method, path: url.split('?', 1)[0], status, ms: Math.round(ms * 10) / 10, by, ip };
  }
}

/**
 * The request is under way no more. One whose answer still waits for its reader is, until the connection has taken it or is
 * gone: no caller holds more answers in memory than requests at once.
 */
export function releaseSlot({ admitted }: FastifyRequest, raw: ServerResponse): void {
  const usage = admitted?.counted;
  if (admitted === undefined || usage === undefined) return;
  admitted.counted = undefined;
  if (raw.writableLength === 0 || raw.destroyed) usage.requests -= 1;
  else
    raw.once('close', () => {
      usage.requests -= 1;
    });
}

/** JSON that is the same for every caller; private caches may keep it. */
function isPlain({ status, type, secrets }: Answer): boolean {
  return status !== NO_CONTENT && type === undefined && secrets === undefined;
}

/** A request without a route is answered in the format of the API it was meant for (native or RESTCONF). */
function isRestconf({ admitted, url }: FastifyRequest): boolean {
  return admitted === undefined ? /^\/restconf(?:[/?]|$)/.test(url) : admitted.route.dialect === 'restconf';
}
