// From a request to the call that a module handles: checked against the schemas of its route, with what the caller proved.
import type { FastifyRequest } from 'fastify';
import type { Authority, Call, Route } from '../access/index.ts';
import { compileInputCheck } from './input/input.ts';
import { hasPassed, rememberBody } from './input/repeated-body.ts';
import { callerOf, readNamedByPath, type AdmittedRequest } from './request-admission.ts';
import { refuseUnacceptable } from './restconf/media-types.ts';

export function compileCall(route: Route): (request: FastifyRequest) => Call {
  const check = compileInputCheck(route);
  const isRestconf = route.dialect === 'restconf';
  const isStream = route.kind === 'stream';
  const readsOnly = route.kind === 'read' && route.submitsCommits !== true;
  const authorityOf = (request: FastifyRequest): Authority => {
    const { caller, known } = request.admitted as AdmittedRequest;
    // A fault of this server's, not of the caller's: `confirm` has refused it.
    if (known === undefined && route.access !== 'public')
      throw new Error(`no caller was authenticated for ${route.path}`);
    const named = readNamedByPath(request);
    return { caller, token: known?.token, demand: route, named, ...(readsOnly && { readsOnly }) };
  };
  return (request) => {
    if (isRestconf) refuseUnacceptable(request.headers.accept);
    const repeating = route.bodyRepeats === true ? request.admitted : undefined;
    const hadPassed = repeating !== undefined && hasPassed(repeating, request.body);
    const { params, query, body } = check(request, hadPassed);
    if (repeating !== undefined && !hadPassed) rememberBody(repeating, body);
    const lastEventId = isStream ? request.headers['last-event-id'] : undefined;
    return {
      params,
      query,
      body,
      caller: callerOf(request),
      authority: authorityOf(request),
      requestId: request.id,
      headersOnly: request.method === 'HEAD',
      accept: request.headers.accept,
      lastEventId: typeof lastEventId === 'string' ? lastEventId : undefined,
    };
  };
}
