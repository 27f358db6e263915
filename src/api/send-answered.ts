// Sends what a module has answered; a refusal without what its caller may not see.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { HandlerResult, RouteContext } from '../access/index.ts';
import type { Refusal } from '../fleet/index.ts';
import type { HandlerDependencies } from './handler.ts';
import { refusalProblem } from './problem.ts';
import { callerOf } from './request-admission.ts';

export interface SubmitContext {
  readonly request: FastifyRequest;
  readonly world: RouteContext;
  /** What of the body matters to a refusal, when that is not all of it. */
  readonly said?: (() => unknown) | undefined;
}

/** A refusal as a caller with a limited view of the fleet may see it. */
export function limitRefusal(refusal: Refusal, { request, world, said = () => request.body }: SubmitContext): Refusal {
  const sight = world.redactorFor(callerOf(request), world.journal.fleet);
  if (sight === undefined) return refusal;
  return sight.redactRefusal(
    refusal,
    `${JSON.stringify(request.params)} ${request.url} ${JSON.stringify(said() ?? '')}`,
  );
}

export function sendAnswered(
  reply: FastifyReply,
  answered: HandlerResult,
  { replies, world, said }: HandlerDependencies & Pick<SubmitContext, 'said'>,
): FastifyReply {
  if (answered.kind === 'refuse') {
    const { request } = reply;
    return replies.sendProblem(reply, refusalProblem(limitRefusal(answered.refusal, { request, world, said })));
  }
  return replies.sendAnswer(reply, answered, world.journal.fleet.revision);
}
