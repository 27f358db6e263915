// The HTTP surface of joining as a manager: one-time join tokens, the join itself, and certificates. No decisions here.
import { Type } from 'typebox';
import {
  answer,
  createToken,
  newSecret,
  read,
  refusalAnswer,
  renderCommitted,
  secretText,
  strictObject,
  TOKEN_REPRESENTATION,
  write,
  type Route,
  type RouteFields,
  type TokenId,
} from '../../access/index.ts';
import type { Refusal } from '../../fleet/index.ts';
import {
  ISSUED_CERTIFICATE,
  RENEWAL_REQUEST,
  type CertificateIssuer,
  type CertificateSubject,
} from '../../link/index.ts';
import { JOIN_REQUEST, JOIN_RESPONSE } from '../manager/join-messages.ts';
import { managerId } from './decide.ts';
import { joinManager, managerCredentialId } from './join.ts';
import { BY_MANAGER } from './messages.ts';

const ONE = '/api/v1/managers/:manager';
const COMMON = { method: 'POST', tag: 'managers', params: BY_MANAGER } as const satisfies Partial<RouteFields>;

const HOUR_MS = 3600 * 1000;
/** Long enough to set up a machine, short enough that a forgotten one is worthless. */
const JOIN_TOKEN_MS = 24 * HOUR_MS;
const JOIN_TOKEN_MAX_MS = 7 * 24 * HOUR_MS;

/** Without an issuer managers get no certificates: the server has no TLS, or issues none. */
export function managerJoinRoutes(issuer: CertificateIssuer | undefined): Route[] {
  return [joinTokenRoute(), joinRoute(issuer), certificateRoute(issuer)];
}

/** For administrators, as every token of a manager: it acts on machines of all sites and projects. */
function joinTokenRoute(): Route {
  const { schema } = TOKEN_REPRESENTATION;
  return write({
    ...COMMON,
    path: `${ONE}/join-token`,
    about: 'Make a one-time token with which a manager joins; its secret is in this answer only',
    access: 'admin',
    body: strictObject({ lifetimeMs: Type.Optional(Type.Integer({ minimum: 60_000, maximum: JOIN_TOKEN_MAX_MS })) }),
    answers: {
      201: {
        about: 'the token and, once, its secret',
        schema: Type.Object({
          ...schema.properties,
          secret: Type.Optional(Type.String()),
          note: Type.Optional(Type.String()),
        }),
      },
    },
    handle: ({ params, body, caller }, world) => {
      const { id, secret, hash } = newSecret(world);
      const manager = managerId(params.manager);
      const nowMs = world.clock.nowMs();
      const token = {
        name: `join ${manager}`,
        role: 'join' as const,
        ...{ manager, hash, createdAtMs: nowMs, createdBy: caller.name },
        expiresAtMs: nowMs + (body.lifetimeMs ?? JOIN_TOKEN_MS),
      };
      return {
        why: `make a join token for manager ${manager}`,
        decide: (fleet) => createToken(fleet, { id, ...token }),
        answer: ({ result: made, after }) => ({
          ...renderCommitted(TOKEN_REPRESENTATION, after, { id: made, status: 201 }),
          secrets: { secret },
        }),
      };
    },
  });
}

function joinRoute(issuer: CertificateIssuer | undefined): Route {
  return write({
    ...COMMON,
    path: `${ONE}/join`,
    about:
      'Turn a join token into the credential of its manager, with a secret that the manager made, and certify a key that it made',
    access: 'join',
    body: JOIN_REQUEST,
    answers: { 200: { about: 'the manager, the id of its credential, and its certificate', schema: JOIN_RESPONSE } },
    handle: ({ params, body: { secret, certificateRequest }, caller }, { hash, clock }) => {
      const requested = certificateRequest === undefined ? undefined : issuer?.verifyRequest(certificateRequest);
      if (requested !== undefined && 'code' in requested) return refusalAnswer(requested);
      const joinToken = caller.token as TokenId;
      const manager = managerId(params.manager);
      const credential = hash(secretText(managerCredentialId(joinToken), secret));
      const command = { joinToken, manager, hash: credential, nowMs: clock.nowMs() };
      return {
        why: `manager ${manager} joins`,
        decide: (fleet) => joinManager(fleet, command),
        answer: ({ result: joined }) => {
          const certificate = requested && issuer?.issue(requested, subjectOf(joined.manager));
          return answer({ ...joined, ...(certificate !== undefined && { certificate }) });
        },
      };
    },
  });
}

/** At any server, also while none decides: nothing is stored, and what is lost is requested again. */
function certificateRoute(issuer: CertificateIssuer | undefined): Route {
  return read({
    ...COMMON,
    path: `${ONE}/certificate`,
    onFollower: 'answer',
    about: 'Certify a key of a manager, the first time or again before its certificate expires; never journalled',
    access: 'manager',
    renewsCertificate: true,
    body: RENEWAL_REQUEST,
    answers: { 200: { about: 'the certificate, and the authorities in force', schema: ISSUED_CERTIFICATE } },
    handle: ({ params, body }) => {
      if (issuer === undefined) return refusalAnswer(NOT_ISSUED);
      const requested = issuer.verifyRequest(body.certificateRequest);
      if ('code' in requested) return refusalAnswer(requested);
      return answer(issuer.issue(requested, subjectOf(managerId(params.manager))));
    },
  });
}

const subjectOf = (name: string): CertificateSubject => ({ kind: 'manager', name });

const NOT_ISSUED: Refusal = {
  kind: 'conflict',
  code: 'manager-certificates-off',
  message:
    'This server issues no certificates to managers: it has no TLS, or was started with --manager-certificates off. Managers do without; to change that, start it with --tls-cert and --manager-certificates optional.',
};
