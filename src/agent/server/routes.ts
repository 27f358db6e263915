// The HTTP routes of the agent gateway. A server without the lease redirects agents to the holder (421): a forwarded heartbeat would be
// counted on the wrong server's clock.
import {
  answer,
  read,
  refusalAnswer,
  write,
  type Answer,
  type HandlerResult,
  type Caller,
  type Route,
  type RouteFields,
} from '../../access/index.ts';
import type { Refusal } from '../../fleet/index.ts';
import { NotHolder } from '../../journal/index.ts';
import type { AgentIdentity } from './admission.ts';
import { isLarge } from './compose-view.ts';
import { viewPieces } from './view-pieces.ts';
import { joinAgent } from './decide.ts';
import type { AgentGateway } from './agent-gateway.ts';
import {
  COLLECT_REQUEST,
  COLLECT_RESPONSE,
  DEPOSIT_REQUEST,
  DEPOSIT_BYTES_MAX,
  DEPOSIT_RESPONSE,
  HEARTBEAT_RESPONSE,
  HEARTBEAT,
  JOIN_REQUEST,
  JOIN_RESPONSE,
  NOT_COPIED_NOW,
  OBSERVATIONS,
  OBSERVATIONS_RESPONSE,
  VIEW_RESPONSE,
  VIEW_REQUEST,
  type HeartbeatResponse,
  type ViewResponse,
} from '../protocol/messages.ts';
import { readViewWords } from '../protocol/view-words.ts';
import {
  ISSUED_CERTIFICATE,
  RENEWAL_REQUEST,
  type CertificateIssuer,
  type CertificateSubject,
  type Reply,
  type SignedText,
} from '../../link/index.ts';

const AT_HOLDER = { tag: 'agents', scope: 'fleet', onFollower: 'misdirect' } satisfies Partial<RouteFields>;

/** The responses to nearly every heartbeat, rendered once: agents send only what a server says it accepts. */
const RENDERED_RESPONSES = new WeakMap<HeartbeatResponse, Answer>();

/** Without an issuer agents get no certificates: the server has no TLS, or issues none. */
export function agentRoutes(gateway: AgentGateway, issuer?: CertificateIssuer): Route[] {
  return [
    joinRoute(gateway, issuer),
    certificateRoute(gateway, issuer),
    heartbeatRoute(gateway),
    viewRoute(gateway),
    observeRoute(gateway),
    depositRoute(gateway),
    collectRoute(gateway),
  ];
}

function joinRoute(gateway: AgentGateway, issuer: CertificateIssuer | undefined): Route {
  return write({
    ...AT_HOLDER,
    // Forwarded, not redirected: an agent that has not joined knows no other server that it could trust.
    onFollower: 'forward',
    method: 'POST',
    path: '/api/v1/agent/join',
    about:
      'Turn a join token into the credential of its host, with a secret that the agent made, and certify a key that it made',
    access: 'join',
    body: JOIN_REQUEST,
    answers: { 200: { about: 'the host, the id of its credential, and its certificate', schema: JOIN_RESPONSE } },
    handle: ({ body, caller }) => {
      if (caller.host === undefined) return refusalAnswer(NOT_FOR_HOSTS);
      const command = gateway.joinCommand(toAgentIdentity(caller), body);
      const { certificateRequest } = body;
      const requested = certificateRequest === undefined ? undefined : issuer?.verifyRequest(certificateRequest);
      if (requested !== undefined && 'code' in requested) return refusalAnswer(requested);
      return {
        why: 'agent joins',
        decide: (fleet) => joinAgent(fleet, command),
        answer: ({ result: joined }) => {
          const certificate = requested && issuer?.issue(requested, agentOf(joined.host));
          return answer({
            ...gateway.statements.joinResponse(joined),
            ...(certificate !== undefined && { certificate }),
          });
        },
      };
    },
  });
}

function certificateRoute(gateway: AgentGateway, issuer: CertificateIssuer | undefined): Route {
  return read({
    ...AT_HOLDER,
    method: 'POST',
    path: '/api/v1/agent/certificate',
    about:
      "Certify a key of the host's agent, the first time or again before its certificate expires; never journalled",
    access: 'agent',
    renewsCertificate: true,
    body: RENEWAL_REQUEST,
    answers: { 200: { about: 'the certificate, and the authorities in force', schema: ISSUED_CERTIFICATE } },
    handle: ({ body, caller }) => {
      const identity = toAgentIdentity(caller);
      const denied = gateway.denialOf(identity);
      if (denied !== undefined) return toAnswer(denied, failOnAnswer);
      if (issuer === undefined) return refusalAnswer(NOT_ISSUED);
      const requested = issuer.verifyRequest(body.certificateRequest);
      return 'code' in requested ? refusalAnswer(requested) : answer(issuer.issue(requested, agentOf(identity.host)));
    },
  });
}

const NOT_FOR_HOSTS: Refusal = {
  kind: 'forbidden',
  code: 'join-token-other-host',
  message:
    'This join token is for a manager of bare-metal nodes, and not for the agent of a host. Make one with "muster hosts join-token <host>".',
};

const NOT_ISSUED: Refusal = {
  // The caller is authorised, but this server is not set up to issue certificates.
  kind: 'conflict',
  code: 'agent-certificates-off',
  message:
    'This server issues no certificates to agents: it has no TLS, or was started with --agent-certificates off. Agents do without; to change that, start it with --tls-cert and --agent-certificates optional.',
};

function failOnAnswer(): never {
  throw new Error('a denial has no representation');
}

function heartbeatRoute(gateway: AgentGateway): Route {
  return read({
    ...AT_HOLDER,
    method: 'POST',
    path: '/api/v1/agent/heartbeat',
    about: 'Say that the host is alive; never journalled',
    access: 'agent',
    body: HEARTBEAT,
    bodyRepeats: true,
    answers: { 200: { about: 'accepted, and whether a report is requested', schema: HEARTBEAT_RESPONSE } },
    handle: ({ body, caller }) => toAnswer(gateway.heartbeat(toAgentIdentity(caller), body), renderHeartbeatResponse),
  });
}

function renderHeartbeatResponse(response: HeartbeatResponse): Answer {
  let known = RENDERED_RESPONSES.get(response);
  if (known === undefined) RENDERED_RESPONSES.set(response, (known = toTextAnswer(JSON.stringify(response))));
  return known;
}

function viewRoute(gateway: AgentGateway): Route {
  let closing: AbortSignal | undefined;
  return read({
    ...AT_HOLDER,
    method: 'GET',
    path: '/api/v1/agent/view',
    about:
      "Get the host's view as soon as it differs from the one with this digest; long poll. In the words of 0.1.0, unless `application/json;words=glossary` is accepted",
    access: 'agent',
    query: VIEW_REQUEST,
    answers: {
      200: {
        about: 'the view, or `unchanged` after the wait',
        schema: VIEW_RESPONSE,
      },
    },
    handle: async ({ query, caller, accept }, world) => {
      if (closing !== world.closing) {
        // A server that shuts down finishes its requests: idle long polls must be ended first.
        ({ closing } = world);
        world.closing.addEventListener('abort', () => gateway.close(), { once: true });
      }
      const request = { ...query, words: readViewWords(accept) };
      return toAnswer(await gateway.view(toAgentIdentity(caller), request), renderViewResponse);
    },
  });
}

function renderViewResponse(found: ViewResponse): Answer {
  if (found.kind === 'unchanged') return renderUnchanged(found.controlPlane);
  return isLarge(found.view.parts)
    ? { kind: 'answer', status: 200, pieces: () => viewPieces(found) }
    : toTextAnswer(JSON.stringify(found));
}

/** The same text for nearly every poll, rendered once for as long as keys and servers stay the same. */
let lastUnchanged: { readonly controlPlane: SignedText | undefined; readonly answer: Answer } | undefined;

function renderUnchanged(controlPlane: SignedText | undefined): Answer {
  if (lastUnchanged === undefined || lastUnchanged.controlPlane !== controlPlane)
    lastUnchanged = { controlPlane, answer: toTextAnswer(JSON.stringify({ kind: 'unchanged', controlPlane })) };
  return lastUnchanged.answer;
}

function observeRoute(gateway: AgentGateway): Route {
  return read({
    ...AT_HOLDER,
    method: 'POST',
    path: '/api/v1/agent/observations',
    about: "Report results of the tasks of the host's view; each may be repeated",
    access: 'agent',
    body: OBSERVATIONS,
    answers: { 200: { about: 'the outcome for each result', schema: OBSERVATIONS_RESPONSE } },
    handle: async ({ body, caller }) =>
      toAnswer(await gateway.observe(toAgentIdentity(caller), body), (observed) => answer(observed)),
  });
}

function depositRoute(gateway: AgentGateway): Route {
  return read({
    ...AT_HOLDER,
    method: 'POST',
    path: '/api/v1/agent/connections/deposit',
    about: 'Deposit the connections of a service for the host that takes it over; never journalled',
    access: 'agent',
    body: DEPOSIT_REQUEST,
    bodyBytesMax: DEPOSIT_BYTES_MAX,
    answers: { 200: { about: 'how many are kept', schema: DEPOSIT_RESPONSE } },
    handle: ({ body, caller }) =>
      toAnswer(gateway.deposit(toAgentIdentity(caller), body), (deposited) => answer(deposited)),
  });
}

function collectRoute(gateway: AgentGateway): Route {
  return read({
    ...AT_HOLDER,
    method: 'POST',
    path: '/api/v1/agent/connections/collect',
    about: 'Get the connections of a service that is taken over as soon as the old host has deposited them; long poll',
    access: 'agent',
    body: COLLECT_REQUEST,
    answers: { 200: { about: 'the connections, or `not-yet` after the wait', schema: COLLECT_RESPONSE } },
    handle: async ({ body, caller }) =>
      toAnswer(await gateway.collect(toAgentIdentity(caller), body), (collected) => answer(collected)),
  });
}

const agentOf = (host: string): CertificateSubject => ({ kind: 'host', name: host });

function toAgentIdentity({ host, token }: Caller): AgentIdentity {
  if (host === undefined) throw new Error('a token for agents is bound to no host');
  return { host, token };
}

function toAnswer<A>(reply: Reply<A>, render: (found: A) => Answer): HandlerResult {
  switch (reply.kind) {
    case 'answer':
      return render(reply.answer);
    case 'refused':
      return refusalAnswer({
        kind: reply.code === NOT_COPIED_NOW ? 'conflict' : 'forbidden',
        code: reply.code,
        message: reply.message,
        ...(reply.statement !== undefined && { facts: { statement: reply.statement } }),
      });
    case 'elsewhere':
      // The lease was lost during the call. The response is the same as to a call that comes now.
      throw new NotHolder();
  }
}

function toTextAnswer(text: string): Answer {
  return { kind: 'answer', status: 200, text };
}
