// From a route to a Fastify handler: check the input, call the room, send the answer. Nothing here knows any route.
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  guarded,
  type Answer,
  type Answered,
  type Call,
  type Route,
  type Streamed,
  type World,
  type Write,
} from '../access/index.ts';
import { NotHolder, type Outcome } from '../journal/index.ts';
import type { Forwarder } from './forward.ts';
import { callerOf, forwards } from './gate.ts';
import { idempotencyIn, ifMatchIn } from './write-headers.ts';
import { inputChecker } from './input.ts';
import { HttpProblem, noHolder, refusalProblem } from './problem.ts';
import type { Streams } from './streams.ts';

export interface Serving {
  readonly world: World;
  readonly forwarder: Forwarder;
  readonly streams: Streams;
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => unknown;
type Kind<K extends Route['kind']> = Extract<Route, { kind: K }>;

export function handlerOf(route: Route, serving: Serving): Handler {
  const away = awayOf(route, serving);
  const handler = handlerAtHome(route, serving);
  if (away === undefined) return handler;
  return (request, reply) => {
    if (serving.world.journal.fence === undefined) return away(request, reply);
    const answered = handler(request, reply);
    return answered instanceof Promise ? answered.catch(elsewhere(() => away(request, reply))) : answered;
  };
}

/** The lease went while the request waited: nothing was written, so another server may decide it. */
function elsewhere(away: () => unknown): (error: unknown) => unknown {
  return (error) => {
    if (error instanceof NotHolder) return away();
    throw error;
  };
}

function handlerAtHome(route: Route, serving: Serving): Handler {
  switch (route.kind) {
    case 'read':
      return reader(route, serving);
    case 'write':
      return writer(route, serving);
    case 'stream':
      return streamer(route, serving);
  }
}

/** What a server that does not decide does with a route that only the deciding one answers. */
function awayOf(route: Route, { forwarder }: Serving): Handler | undefined {
  if (forwards(route)) return (request, reply) => forwardedTo(forwarder, request, reply);
  if (route.elsewhere !== 'misdirect') return undefined;
  return async () => {
    const lease = await forwarder.holder();
    if (lease === undefined) throw noHolder();
    const detail = `This server does not decide now. Ask ${lease.url} instead.`;
    const facts = { holder: lease.url, leaseEpoch: lease.epoch };
    throw new HttpProblem({ status: 421, code: 'not-holder', detail, facts });
  };
}

function reader(route: Kind<'read'>, { world }: Serving): Handler {
  const callOf = callMaker(route);
  return (request, reply) => {
    const answered = route.handle(callOf(request), world);
    if (answered instanceof Promise) return answered.then((later) => sendAnswered(reply, later, world));
    return sendAnswered(reply, answered, world);
  };
}

function streamer(route: Kind<'stream'>, { world, streams }: Serving): Handler {
  const callOf = callMaker(route);
  return async (request, reply) => {
    streams.refuseIfFull();
    const answered: Streamed | Answered = await route.handle(callOf(request), world);
    if (answered.kind !== 'stream') return sendAnswered(reply, answered, world);
    await streams.run(answered, request, reply);
    return reply;
  };
}

function writer(route: Kind<'write'>, { world }: Serving): Handler {
  const callOf = callMaker(route);
  return async (request, reply) => {
    const write = route.handle(callOf(request), world);
    if ('kind' in write) throw refusalProblem(write.refusal);
    const outcome = await submit(write, request, world);
    void reply.header('muster-revision', outcome.revision);
    if (outcome.kind === 'refused') throw refusalProblem(outcome.refusal);
    if (outcome.answer.replayed) void reply.header('idempotency-replayed', 'true');
    return sendAnswer(reply, outcome.answer.answer);
  };
}

type Decided = Outcome<{ readonly answer: Answer; readonly replayed: boolean }>;

async function submit(write: Write, request: FastifyRequest, world: World): Promise<Decided> {
  const caller = callerOf(request);
  const ifMatch = ifMatchIn(request.headers);
  if (ifMatch !== undefined && write.target === undefined) {
    const detail = 'If-Match means nothing here: this request does not change one resource.';
    throw new HttpProblem({ status: 400, code: 'if-match-not-supported', detail });
  }
  const decide = guarded(write, { caller, ifMatch, idempotency: idempotencyIn(request, world) });
  const { why, operation } = write;
  return world.journal.submit({
    by: caller.name,
    decide,
    ...(why !== undefined && { why }),
    ...(operation !== undefined && { operation }),
  });
}

function callMaker(route: Route): (request: FastifyRequest) => Call {
  const check = inputChecker(route);
  return (request) => {
    const { params, query, body } = check(request);
    const lastEventId = request.headers['last-event-id'];
    return {
      params,
      query,
      body,
      caller: callerOf(request),
      requestId: request.id,
      lastEventId: typeof lastEventId === 'string' ? lastEventId : undefined,
    };
  };
}

function sendAnswered(reply: FastifyReply, answered: Answered, world: World): FastifyReply {
  void reply.header('muster-revision', world.journal.fleet.revision);
  if (answered.kind === 'refuse') throw refusalProblem(answered.refusal);
  return sendAnswer(reply, answered);
}

const JSON_TYPE = 'application/json; charset=utf-8';

function sendAnswer(reply: FastifyReply, answer: Answer): FastifyReply {
  void reply
    .code(answer.status)
    .header('content-type', answer.type ?? JSON_TYPE)
    .header('x-request-id', reply.request.id);
  if (answer.headers !== undefined) void reply.headers(answer.headers);
  if (answer.etag !== undefined) {
    const etag = `"${answer.etag}"`;
    void reply.header('etag', etag);
    if (answer.status === 200 && reply.request.headers['if-none-match'] === etag) return reply.code(304).send();
  }
  const text = answer.text ?? JSON.stringify(answer.body ?? {});
  if (answer.secrets === undefined) return reply.send(text);
  const secrets = JSON.stringify(answer.secrets).slice(1);
  return reply.header('cache-control', 'no-store').send(`${text.slice(0, -1)},${secrets}`);
}

async function forwardedTo(forwarder: Forwarder, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { method, url, headers, body, id } = request;
  const answer = await forwarder.forward({ method, url, headers, body, requestId: id });
  return reply.code(answer.status).headers(answer.headers).header('x-request-id', id).send(answer.body);
}
