// Routes whose body comes in lines: read here as it comes, or forwarded as it comes. Nothing is done before the last line is there.
import type { FastifyRequest } from 'fastify';
import type { BodyLine, HandlerResult } from '../access/index.ts';
import { compileChecker } from '../fleet/index.ts';
import { NotHolder } from '../journal/index.ts';
import { compileCall } from './compile-call.ts';
import type { Handler, HandlerDependencies, RouteOf } from './handler.ts';
import { readLines } from './input/body-lines.ts';
import { readBody } from './input/body-stream.ts';
import { demandNoIfMatch } from './input/write-headers.ts';
import type { Connections } from './limits/connections.ts';
import { noHolderProblem } from './problem.ts';
import { sendAnswered } from './send-answered.ts';

/** How long the rest of a body is read and thrown away after the answer. */
const BODY_DISCARD_MS = 5000;

export function bulkHandler(route: RouteOf<'bulk'>, serving: HandlerDependencies): Handler {
  const { world, gate, bulkSlots, connections } = serving;
  const callOf = compileCall(route);
  const check = compileChecker(route.body);
  const answer = async (request: FastifyRequest): Promise<BulkAnswer> => {
    try {
      const call = callOf(request);
      demandNoIfMatch(request);
      const lines = await readLines(readBody(request.raw, route), { limits: route.lines, check });
      // The token may have ended while the body came.
      gate.confirm(route, request);
      return { answered: await route.handle({ ...call, body: lines }, world), lines };
    } catch (error) {
      // Its body was read: there is nothing to forward.
      throw error instanceof NotHolder ? noHolderProblem() : error;
    } finally {
      limitRest(request, connections);
    }
  };
  return async (request, reply) => {
    const { answered, lines } = await bulkSlots.hold(request, () => answer(request));
    return sendAnswered(reply, answered, { ...serving, said: () => lineNamedBy(answered, lines) });
  };
}

interface BulkAnswer {
  readonly answered: HandlerResult;
  readonly lines: readonly BodyLine[];
}

/** What the caller said in the line that a refusal is about: that is no secret to it. */
function lineNamedBy(answered: HandlerResult, lines: readonly BodyLine[]): unknown {
  const named = answered.kind === 'refuse' ? answered.refusal.facts?.['line'] : undefined;
  return lines.find(({ line }) => line === named)?.value;
}

/** What a server does that does not decide. */
export function bulkForwarder(
  route: RouteOf<'bulk'>,
  { forwarder, replies, connections }: HandlerDependencies,
): Handler {
  const timeoutMs = route.bodyTimeMs + route.answerTimeMs;
  return async (request, reply) => {
    const { method, url, headers, id: requestId } = request;
    const stream = readBody(request.raw, route);
    const forwarded = forwarder.forward({ method, url, headers, requestId, stream, timeoutMs });
    const answered = await forwarded.finally(() => {
      void stream.return();
      limitRest(request, connections);
    });
    return replies.relay(reply, answered);
  };
}

/** A sender that is answered before it has sent everything is read on for a while, so that it finds the answer. */
function limitRest({ raw }: FastifyRequest, connections: Connections): void {
  if (!raw.complete) connections.allowBodyTime(raw.socket, BODY_DISCARD_MS);
}
