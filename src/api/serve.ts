// From a route to a Fastify handler: check the input, call the room, send the answer. Nothing here knows any route.
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  guarded,
  NOT_PREPARED,
  type Answer,
  type Answered,
  type Authority,
  type Call,
  type Route,
  type Streamed,
  type World,
  type Write,
  type Written,
} from '../access/index.ts';
import type { Refusal } from '../fleet/index.ts';
import { NotHolder, type Outcome } from '../journal/index.ts';
import type { AuditTrail } from './audit-trail.ts';
import type { Forwarder } from './forward.ts';
import { callerOf, forwards, hostNamedIn, type Admitted, type Gate } from './gate.ts';
import { idempotencyIn, ifMatchIn } from './write-headers.ts';
import { inputChecker } from './input.ts';
import type { Recall } from './recall.ts';
import { hasPassed, keepPassed } from './repeated-body.ts';
import { HttpProblem, noHolder, refusalProblem } from './problem.ts';
import { refuseUnacceptable } from './restconf/acceptable.ts';
import { uncount, type Replies } from './replies.ts';
import { sendPieces, type PiecedAnswer } from './send-pieces.ts';
import type { Streams } from './streams.ts';
import type { Workload } from './workload.ts';

/** What proves to an agent that it is sent on to the lease holder by the control plane. */
export type VouchForHolder = (lease: { readonly url: string; readonly epoch: number }) => object | undefined;

export interface Serving {
  readonly world: World;
  readonly gate: Gate;
  readonly forwarder: Forwarder;
  readonly streams: Streams;
  readonly replies: Replies;
  readonly recall: Recall;
  readonly trail: AuditTrail;
  readonly workload: Workload;
  readonly vouchForHolder?: VouchForHolder | undefined;
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => unknown;
type Kind<K extends Route['kind']> = Extract<Route, { kind: K }>;

export function handlerOf(route: Route, serving: Serving): Handler {
  const { world, gate, trail } = serving;
  const away = awayOf(route, serving);
  const handleHere = handlerAtHome(route, serving);
  const handler: Handler = (request, reply) => {
    gate.confirm(route, request);
    if (route.asksForNames === true) trail.demandNameBudget(request);
    return handleHere(request, reply);
  };
  if (away === undefined) return handler;
  return (request, reply) => {
    if (world.journal.fence === undefined) return away(request, reply);
    // The lease went while the request waited: nothing was written, so another server may decide it.
    const failed = (error: unknown): unknown => {
      if (error instanceof NotHolder) return away(request, reply);
      throw error;
    };
    try {
      const answered = handler(request, reply);
      // What is answered at once is not made to wait for a promise: heartbeats come a thousand times a second.
      return answered instanceof Promise ? answered.catch(failed) : answered;
    } catch (error) {
      return failed(error);
    }
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
function awayOf(route: Route, { forwarder, replies, vouchForHolder }: Serving): Handler | undefined {
  if (forwards(route)) {
    return async (request, reply) => {
      const { method, url, headers, body, id: requestId } = request;
      return replies.passOn(reply, await forwarder.forward({ method, url, headers, body, requestId }));
    };
  }
  if (route.elsewhere !== 'misdirect') return undefined;
  return async () => {
    const lease = await forwarder.holder();
    if (lease === undefined) throw noHolder();
    const detail = `This server does not decide now. Ask ${lease.url} instead.`;
    const statement = vouchForHolder?.(lease);
    const facts = { holder: lease.url, leaseEpoch: lease.epoch, ...(statement !== undefined && { statement }) };
    throw new HttpProblem({ status: 421, code: 'not-holder', detail, facts });
  };
}

function reader(route: Kind<'read'>, serving: Serving): Handler {
  const callOf = callMaker(route);
  const { scansFleet, plansOnFleet } = route;
  const inTurn = async (call: Call): Promise<Answered> =>
    serving.workload.slice(call.caller, () => route.handle(call, serving.world));
  const planned = (call: Call): Promise<Answered> =>
    serving.workload.plan(call.caller, async () => route.handle(call, serving.world));
  const handle = (call: Call): Answered | Promise<Answered> => {
    if (plansOnFleet === true) return planned(call);
    return scansFleet?.(call) === true ? inTurn(call) : route.handle(call, serving.world);
  };
  const send = (reply: FastifyReply, answered: Answered): unknown =>
    answered.kind === 'answer' && answered.pieces !== undefined
      ? sendPieces(
          reply,
          { answer: answered as PiecedAnswer, route, revision: serving.world.journal.fleet.revision },
          serving,
        )
      : sendAnswered(reply, answered, serving);
  return (request, reply) => {
    const answered = handle(callOf(request));
    if (answered instanceof Promise) {
      return answered.then((later) => {
        // It may have waited for its turn: nothing is shown to a token that ended meanwhile. Agents are told why by the desk.
        if (route.access !== 'agent') serving.gate.confirm(route, request);
        return send(reply, later);
      });
    }
    return send(reply, answered);
  };
}

function streamer(route: Kind<'stream'>, serving: Serving): Handler {
  const callOf = callMaker(route);
  const { world, streams, replies } = serving;
  return async (request, reply) => {
    const answered = await streams.withPlace(request, async (): Promise<Streamed | Answered> => {
      const started = await route.handle(callOf(request), world);
      if (started.kind === 'stream') await streams.run(started, request, reply);
      return started;
    });
    if (answered.kind !== 'stream') return sendAnswered(reply, answered, serving);
    replies.note(request, 200);
    uncount(request, reply.raw);
    return reply;
  };
}

function writer(route: Kind<'write'>, { world, replies, recall, workload }: Serving): Handler {
  const callOf = callMaker(route);
  return async (request, reply) => {
    const call = callOf(request);
    let write = route.handle(call, world);
    if ('kind' in write) throw refusalProblem(write.refusal);
    const asking = { request, world };
    let outcome = await submit(write, call, asking);
    while (isUnprepared(outcome) && write.prepare !== undefined) {
      const prepared: Write | Refusal = await workload.plan(call.caller, write.prepare);
      if ('code' in prepared) return replies.problem(reply, refusalProblem(limitRefusal(prepared, asking)));
      write = prepared;
      outcome = await submit(write, call, asking);
    }
    if (outcome.kind === 'refused')
      return replies.problem(reply, refusalProblem(limitRefusal(outcome.refusal, asking)));
    const written = outcome.answer;
    if (written.kind === 'written') return replies.answer(reply, written.answer, outcome.revision);
    const path = request.url.split('?', 1)[0] ?? '';
    return replies.answer(reply, asReplayed(await recall(written, { path, caller: call.caller })), outcome.revision);
  };
}

function isUnprepared(outcome: Outcome<Written>): boolean {
  return outcome.kind === 'refused' && outcome.refusal.code === NOT_PREPARED;
}

/** With the answer and not on the reply: one that has nothing more to say goes past what is on the reply. */
function asReplayed(answer: Answer): Answer {
  return { ...answer, headers: { ...answer.headers, 'idempotency-replayed': 'true' } };
}

interface Asking {
  readonly request: FastifyRequest;
  readonly world: World;
}

function submit(
  write: Write,
  { caller, authority }: Call,
  { request, world }: Asking,
): ReturnType<typeof world.submit<Written>> {
  const ifMatch = ifMatchIn(request.headers);
  if (ifMatch !== undefined && write.target === undefined) {
    const detail = 'If-Match means nothing here: this request does not change one resource.';
    throw new HttpProblem({ status: 400, code: 'if-match-not-supported', detail });
  }
  const idempotency = idempotencyIn(request, world);
  const decide = guarded(write, { caller, ifMatch, idempotency, sightOf: world.sightOf });
  const { why, operation } = write;
  return world.submit(authority, {
    decide,
    ...(why !== undefined && { why }),
    ...(operation !== undefined && { operation }),
  });
}

function callMaker(route: Route): (request: FastifyRequest) => Call {
  const check = inputChecker(route);
  const isRestconf = route.dialect === 'restconf';
  const isStream = route.kind === 'stream';
  const authorityOf = (request: FastifyRequest): Authority => {
    const { caller, known } = request.admitted as Admitted;
    // A fault of this server's, not of the caller's: `confirm` has refused it.
    if (known === undefined && route.access !== 'public') throw new Error(`nobody was let in to ${route.path}`);
    return { caller, token: known?.token, demand: route, host: hostNamedIn(request) };
  };
  return (request) => {
    if (isRestconf) refuseUnacceptable(request.headers.accept);
    const repeating = route.bodyRepeats === true ? request.admitted : undefined;
    const hadPassed = repeating !== undefined && hasPassed(repeating, request.body);
    const { params, query, body } = check(request, hadPassed);
    if (repeating !== undefined && !hadPassed) keepPassed(repeating, body);
    const lastEventId = isStream ? request.headers['last-event-id'] : undefined;
    return {
      params,
      query,
      body,
      caller: callerOf(request),
      authority: authorityOf(request),
      requestId: request.id,
      headersOnly: request.method === 'HEAD',
      lastEventId: typeof lastEventId === 'string' ? lastEventId : undefined,
    };
  };
}

/** What a caller that sees a part of the fleet is told of a refusal. */
function limitRefusal(refusal: Refusal, { request, world }: Asking): Refusal {
  const sight = world.sightOf(callerOf(request), world.journal.fleet);
  if (sight === undefined) return refusal;
  return sight.refusal(
    refusal,
    `${JSON.stringify(request.params)} ${request.url} ${JSON.stringify(request.body ?? '')}`,
  );
}

function sendAnswered(reply: FastifyReply, answered: Answered, { replies, world }: Serving): FastifyReply {
  if (answered.kind === 'refuse') {
    const { request } = reply;
    return replies.problem(reply, refusalProblem(limitRefusal(answered.refusal, { request, world })));
  }
  return replies.answer(reply, answered, world.journal.fleet.revision);
}
