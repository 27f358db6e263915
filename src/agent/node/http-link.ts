// The link over HTTP: the routes of the gateway as an agent calls them. It translates and checks; it decides nothing.
import { Type } from 'typebox';
import { compileChecker } from '../../fleet/index.ts';
import {
  COLLECT_WAIT_MAX_MS,
  COLLECT_RESPONSE,
  DEPOSIT_RESPONSE,
  HEARTBEAT_RESPONSE,
  JOIN_RESPONSE,
  OBSERVATIONS_RESPONSE,
  VIEW,
  VIEW_RESPONSE,
  VIEW_WAIT_MAX_MS,
  type CollectRequest,
  type CollectResponse,
  type DepositRequest,
  type DepositResponse,
  type HeartbeatResponse,
  type Heartbeat,
  type JoinRequest,
  type JoinResponse,
  type Observations,
  type ObservationsResponse,
  type ViewResponse,
  type ViewRequest,
} from '../protocol/messages.ts';
import { viewMediaType } from '../protocol/view-words.ts';
import {
  ISSUED_CERTIFICATE,
  transportTo,
  type CertificateLink,
  type Fingerprint,
  type IssuedCertificate,
  type Reply,
  type CallTarget,
} from '../../link/index.ts';
import { ReplyClient } from '../../link/runtime.ts';
import type { AgentLink } from './ports.ts';

export interface HttpLinkOptions {
  /** CA certificates in PEM, instead of the system's. */
  readonly ca?: string | undefined;
  /** Pinned fingerprints of servers: no request is sent to one that shows none of them. */
  readonly pins?: readonly Fingerprint[] | undefined;
  readonly timeoutMs?: number | undefined;
  /** Speak plain HTTP to other machines, too: secrets then cross the network in clear text. */
  readonly insecure?: boolean | undefined;
}

/** Less than the heartbeats that a host may miss before it is suspect: another server can still be tried. */
const TIMEOUT_MS = 5000;
/** On top of the wait at the server, or of the time that a large body takes: a slow answer is still an answer. */
const GRACE_MS = 10_000;

const VIEW_REPLY = Type.Union([
  Type.Object({ ...VIEW_RESPONSE.properties, kind: Type.Literal('unchanged') }),
  Type.Object({ ...VIEW_RESPONSE.properties, kind: Type.Literal('view'), view: VIEW }),
]);

const CHECKS = {
  joined: compileChecker(JOIN_RESPONSE),
  issued: compileChecker(ISSUED_CERTIFICATE),
  heartbeat: compileChecker(HEARTBEAT_RESPONSE),
  view: compileChecker(VIEW_REPLY),
  observed: compileChecker(OBSERVATIONS_RESPONSE),
  deposited: compileChecker(DEPOSIT_RESPONSE),
  collected: compileChecker(COLLECT_RESPONSE),
};

export class HttpLink implements AgentLink {
  readonly #client: ReplyClient;
  readonly #timeoutMs: number;
  readonly certificates: CertificateLink = {
    renew: async (to, renewal) =>
      this.#client.post<IssuedCertificate>(to, '/api/v1/agent/certificate', { body: renewal, check: CHECKS.issued }),
    present: (pair) => this.#client.present(pair),
  };

  constructor(options: HttpLinkOptions = {}) {
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
    this.#client = new ReplyClient({ ...options, timeoutMs: this.#timeoutMs });
  }

  isAuthenticated(server: string): boolean {
    // No request is sent to a server over HTTPS that is neither trusted nor pinned.
    return transportTo(server) === 'https';
  }

  /** Closes the kept connections. */
  close(): void {
    this.#client.close();
  }

  async join(to: CallTarget, join: JoinRequest): Promise<Reply<JoinResponse>> {
    return this.#client.post<JoinResponse>(to, '/api/v1/agent/join', { body: join, check: CHECKS.joined });
  }

  async heartbeat(to: CallTarget, beat: Heartbeat): Promise<Reply<HeartbeatResponse>> {
    return this.#client.post<HeartbeatResponse>(to, '/api/v1/agent/heartbeat', { body: beat, check: CHECKS.heartbeat });
  }

  async observe(to: CallTarget, observations: Observations): Promise<Reply<ObservationsResponse>> {
    return this.#client.post<ObservationsResponse>(to, '/api/v1/agent/observations', {
      body: observations,
      check: CHECKS.observed,
    });
  }

  async view(to: CallTarget, request: ViewRequest, signal: AbortSignal): Promise<Reply<ViewResponse>> {
    const { words, ...query } = request;
    const fields = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
    const path = `/api/v1/agent/view?${fields.join('&')}`;
    const timeoutMs = (request.waitMs ?? VIEW_WAIT_MAX_MS) + GRACE_MS;
    const accept = viewMediaType(words);
    return this.#client.get<ViewResponse>(to, path, { check: CHECKS.view, timeoutMs, signal, accept });
  }

  async deposit(to: CallTarget, deposit: DepositRequest): Promise<Reply<DepositResponse>> {
    const sent = { body: deposit, check: CHECKS.deposited, timeoutMs: this.#timeoutMs + GRACE_MS };
    return this.#client.post<DepositResponse>(to, '/api/v1/agent/connections/deposit', sent);
  }

  async collect(to: CallTarget, request: CollectRequest, signal: AbortSignal): Promise<Reply<CollectResponse>> {
    const timeoutMs = (request.waitMs ?? COLLECT_WAIT_MAX_MS) + GRACE_MS;
    const sent = { body: request, check: CHECKS.collected, timeoutMs, signal };
    return this.#client.post<CollectResponse>(to, '/api/v1/agent/connections/collect', sent);
  }
}
