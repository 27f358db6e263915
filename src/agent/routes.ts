// The HTTP surface of the desk. A server without the lease tells agents to go to the holder themselves (421): a
// heartbeat that was passed on would make the wrong server's clock count.
import {
  answer,
  read,
  refused,
  write,
  type Answer,
  type Answered,
  type Caller,
  type Route,
  type RouteFace,
} from '../access/index.ts';
import type { Refusal } from '../fleet/index.ts';
import { NotHolder } from '../journal/index.ts';
import type { Speaker } from './admission.ts';
import { joinAgent } from './decide.ts';
import type { CertificateIssuer } from './certificate-issuer.ts';
import type { Desk } from './desk.ts';
import {
  COLLECT,
  COLLECTED,
  DEPOSIT,
  DEPOSIT_BYTES_MAX,
  DEPOSITED,
  HEARD,
  HEARTBEAT,
  ISSUED,
  JOIN,
  JOINED,
  NOT_COPIED_NOW,
  OBSERVATIONS,
  OBSERVED,
  RENEWAL,
  VIEW_ANSWER,
  VIEW_ASK,
  type Heard,
  type ViewAnswer,
} from './messages.ts';
import type { Reply } from './ports.ts';
import type { Signed } from './statement.ts';

const AT_HOLDER = { tag: 'agents', scope: 'fleet', elsewhere: 'misdirect' } satisfies Partial<RouteFace>;

/** The answers to nearly every heartbeat, rendered once: all that the gateway says, since agents send only what a server says it takes. */
const HEARD_TEXTS = new WeakMap<Heard, Answer>();

/** Without an issuer agents get no certificates: the server has no TLS, or was told to issue none. */
export function agentRoutes(desk: Desk, issuer?: CertificateIssuer): Route[] {
  return [
    joinRoute(desk, issuer),
    certificateRoute(desk, issuer),
    heartbeatRoute(desk),
    viewRoute(desk),
    observeRoute(desk),
    depositRoute(desk),
    collectRoute(desk),
  ];
}

function joinRoute(desk: Desk, issuer: CertificateIssuer | undefined): Route {
  return write({
    ...AT_HOLDER,
    // Passed on, not sent on: an agent that has not joined knows no other server that it could believe.
    elsewhere: 'forward',
    method: 'POST',
    path: '/api/v1/agent/join',
    about:
      'Turn a join token into the credential of its host, with a secret that the agent made, and certify a key that it made',
    access: 'join',
    body: JOIN,
    answers: { 200: { about: 'the host, the id of its credential, and its certificate', schema: JOINED } },
    handle: ({ body, caller }) => {
      const command = desk.joinCommand(speaker(caller), body);
      const { certificateRequest } = body;
      const requested = certificateRequest === undefined ? undefined : issuer?.read(certificateRequest);
      if (requested !== undefined && 'code' in requested) return refused(requested);
      return {
        why: 'agent joins',
        decide: (fleet) => joinAgent(fleet, command),
        answer: (joined) => {
          const certificate = requested && issuer?.issue(requested, joined.host);
          return answer({ ...desk.vouching.joined(joined), ...(certificate !== undefined && { certificate }) });
        },
      };
    },
  });
}

function certificateRoute(desk: Desk, issuer: CertificateIssuer | undefined): Route {
  return read({
    ...AT_HOLDER,
    method: 'POST',
    path: '/api/v1/agent/certificate',
    about:
      "Certify a key of the host's agent, the first time or again before its certificate expires; never journalled",
    access: 'agent',
    renewsCertificate: true,
    body: RENEWAL,
    answers: { 200: { about: 'the certificate, and the authorities in force', schema: ISSUED } },
    handle: ({ body, caller }) => {
      const asker = speaker(caller);
      const denied = desk.denialOf(asker);
      if (denied !== undefined) return answered(denied, neverShown);
      if (issuer === undefined) return refused(NOT_ISSUED);
      const requested = issuer.read(body.certificateRequest);
      return 'code' in requested ? refused(requested) : answer(issuer.issue(requested, asker.host));
    },
  });
}

const NOT_ISSUED: Refusal = {
  // Nothing is wrong with the caller, who may ask this of a server that is set up for it.
  kind: 'conflict',
  code: 'agent-certificates-off',
  message: 'This server issues no certificates to agents: it has no TLS, or was started with --agent-certificates off.',
};

function neverShown(): never {
  throw new Error('a denial is no answer');
}

function heartbeatRoute(desk: Desk): Route {
  return read({
    ...AT_HOLDER,
    method: 'POST',
    path: '/api/v1/agent/heartbeat',
    about: 'Say that the host is alive; never journalled',
    access: 'agent',
    body: HEARTBEAT,
    bodyRepeats: true,
    answers: { 200: { about: 'heard, and whether a report is wanted', schema: HEARD } },
    handle: ({ body, caller }) => answered(desk.heartbeat(speaker(caller), body), heardText),
  });
}

function heardText(heard: Heard): Answer {
  let known = HEARD_TEXTS.get(heard);
  if (known === undefined) HEARD_TEXTS.set(heard, (known = textAnswer(JSON.stringify(heard))));
  return known;
}

function viewRoute(desk: Desk): Route {
  let closing: AbortSignal | undefined;
  return read({
    ...AT_HOLDER,
    method: 'GET',
    path: '/api/v1/agent/view',
    about: "Get the host's view as soon as it differs from the one with this digest, or hear that it does not",
    access: 'agent',
    query: VIEW_ASK,
    answers: {
      200: {
        about: 'the view, or `unchanged` after the wait',
        schema: VIEW_ANSWER,
      },
    },
    handle: async ({ query, caller }, world) => {
      if (closing !== world.closing) {
        // A server that shuts down waits for its answers: those who wait here for nothing must go first.
        ({ closing } = world);
        world.closing.addEventListener('abort', () => desk.close(), { once: true });
      }
      return answered(await desk.view(speaker(caller), query), viewText);
    },
  });
}

function viewText(found: ViewAnswer): Answer {
  return found.kind === 'unchanged' ? unchangedText(found.controlPlane) : textAnswer(JSON.stringify(found));
}

/** The same text for nearly every poll, rendered once for as long as keys and servers stay the same. */
let unchanged: { readonly controlPlane: Signed | undefined; readonly answer: Answer } | undefined;

function unchangedText(controlPlane: Signed | undefined): Answer {
  if (unchanged === undefined || unchanged.controlPlane !== controlPlane)
    unchanged = { controlPlane, answer: textAnswer(JSON.stringify({ kind: 'unchanged', controlPlane })) };
  return unchanged.answer;
}

function observeRoute(desk: Desk): Route {
  return read({
    ...AT_HOLDER,
    method: 'POST',
    path: '/api/v1/agent/observations',
    about: "Bring answers to the tasks of the host's view; each may be repeated",
    access: 'agent',
    body: OBSERVATIONS,
    answers: { 200: { about: 'what became of each answer', schema: OBSERVED } },
    handle: async ({ body, caller }) =>
      answered(await desk.observe(speaker(caller), body), (observed) => answer(observed)),
  });
}

function depositRoute(desk: Desk): Route {
  return read({
    ...AT_HOLDER,
    method: 'POST',
    path: '/api/v1/agent/connections/deposit',
    about: 'Leave the connections of a service for the host that takes it over; never journalled',
    access: 'agent',
    body: DEPOSIT,
    bodyBytesMax: DEPOSIT_BYTES_MAX,
    answers: { 200: { about: 'how many are kept', schema: DEPOSITED } },
    handle: ({ body, caller }) => answered(desk.deposit(speaker(caller), body), (deposited) => answer(deposited)),
  });
}

function collectRoute(desk: Desk): Route {
  return read({
    ...AT_HOLDER,
    method: 'POST',
    path: '/api/v1/agent/connections/collect',
    about:
      'Get the connections of a service that is taken over as soon as the host before has left them, or hear that it has not',
    access: 'agent',
    body: COLLECT,
    answers: { 200: { about: 'the connections, or `not-yet` after the wait', schema: COLLECTED } },
    handle: async ({ body, caller }) =>
      answered(await desk.collect(speaker(caller), body), (collected) => answer(collected)),
  });
}

function speaker({ host, token }: Caller): Speaker {
  if (host === undefined) throw new Error('a token for agents is bound to no host');
  return { host, token };
}

function answered<A>(reply: Reply<A>, show: (found: A) => Answer): Answered {
  switch (reply.kind) {
    case 'answer':
      return show(reply.answer);
    case 'refused':
      return refused({
        kind: reply.code === NOT_COPIED_NOW ? 'conflict' : 'forbidden',
        code: reply.code,
        message: reply.message,
        ...(reply.statement !== undefined && { facts: { statement: reply.statement } }),
      });
    case 'elsewhere':
      // The lease went while the call was here. The API says the same as to one that comes now.
      throw new NotHolder();
  }
}

function textAnswer(text: string): Answer {
  return { kind: 'answer', status: 200, text };
}
