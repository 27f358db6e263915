// The link of a manager over HTTP. It translates and checks; it decides nothing.
import { Type } from 'typebox';
import { compileChecker } from '../../fleet/index.ts';
import {
  ISSUED_CERTIFICATE,
  type Fingerprint,
  type IssuedCertificate,
  type KeyPair,
  type RenewalRequest,
  type Reply,
  type CallTarget,
} from '../../link/index.ts';
import { ReplyClient } from '../../link/runtime.ts';
import {
  ACQUIRE_RESPONSE,
  ANSWER_RESPONSE,
  LEASE_RESPONSE,
  RELEASE_RESPONSE,
  TASKS_RESPONSE,
  TASKS_WAIT_MAX_MS,
  type AcquireRequest,
  type AcquireResponse,
  type AnswerRequest,
  type AnswerResponse,
  type LeaseResponse,
  type RegisterRequest,
  type ReleaseResponse,
  type TasksQuery,
  type TasksResponse,
  type TenureRequest,
} from '../managers/messages.ts';
import { JOIN_RESPONSE, type ManagerJoinRequest, type ManagerJoinResponse } from './join-messages.ts';
import type { ManagerLink, ReservationReply } from './ports.ts';

export interface ManagerLinkOptions {
  /** Certificates in PEM that servers are trusted by, instead of the system's. */
  readonly ca?: string | undefined;
  /** Fingerprints that servers are known by: one that shows none of them is not spoken to. */
  readonly pins?: readonly Fingerprint[] | undefined;
  /** Speak plain HTTP to other machines, too: secrets then cross the network in clear text. */
  readonly insecure?: boolean | undefined;
  readonly onCertificate?: ((verdict: 'refused' | 'accepted') => void) | undefined;
}

/** Less than a lease may miss: another server can still be tried. */
const TIMEOUT_MS = 3000;
/** A batch of nodes is a large commit, and a reservation may wait for its inventory. */
const LONG_TIMEOUT_MS = 15_000;
/** On top of the wait at the server. */
const GRACE_MS = 5000;

const RESERVATION = Type.Object({ state: Type.String(), node: Type.Optional(Type.String()) });

const CHECKS = {
  joined: compileChecker(JOIN_RESPONSE),
  issued: compileChecker(ISSUED_CERTIFICATE),
  lease: compileChecker(LEASE_RESPONSE),
  released: compileChecker(RELEASE_RESPONSE),
  acquired: compileChecker(ACQUIRE_RESPONSE),
  tasks: compileChecker(TASKS_RESPONSE),
  answered: compileChecker(ANSWER_RESPONSE),
  reserved: compileChecker(RESERVATION),
};

const pathOf = (manager: string, call = ''): string => `/api/v1/managers/${encodeURIComponent(manager)}${call}`;

export class HttpManagerLink implements ManagerLink {
  readonly #client: ReplyClient;
  /** For joins and certificates: the caller gets the refusal. */
  readonly #joining: ReplyClient;

  constructor({ onCertificate, ...options }: ManagerLinkOptions = {}) {
    this.#client = new ReplyClient({ ...options, onCertificate, timeoutMs: TIMEOUT_MS });
    this.#joining = new ReplyClient({ ...options, timeoutMs: TIMEOUT_MS });
  }

  close(): void {
    this.#client.close();
    this.#joining.close();
  }

  /** Every connection that is opened from now on shows this certificate. */
  present(pair: KeyPair | undefined): void {
    this.#client.present(pair);
    this.#joining.present(pair);
  }

  join(to: CallTarget, manager: string, body: ManagerJoinRequest): Promise<Reply<ManagerJoinResponse>> {
    return this.#joining.post<ManagerJoinResponse>(to, pathOf(manager, '/join'), { body, check: CHECKS.joined });
  }

  certify(to: CallTarget, manager: string, body: RenewalRequest): Promise<Reply<IssuedCertificate>> {
    return this.#joining.post<IssuedCertificate>(to, pathOf(manager, '/certificate'), { body, check: CHECKS.issued });
  }

  register(to: CallTarget, manager: string, body: RegisterRequest): Promise<Reply<LeaseResponse>> {
    return this.#client.put<LeaseResponse>(to, pathOf(manager), { body, check: CHECKS.lease });
  }

  renew(to: CallTarget, manager: string, body: TenureRequest): Promise<Reply<LeaseResponse>> {
    return this.#client.post<LeaseResponse>(to, pathOf(manager, '/renew'), { body, check: CHECKS.lease });
  }

  release(to: CallTarget, manager: string, body: TenureRequest): Promise<Reply<ReleaseResponse>> {
    return this.#client.post<ReleaseResponse>(to, pathOf(manager, '/release'), { body, check: CHECKS.released });
  }

  acquire(to: CallTarget, manager: string, body: AcquireRequest): Promise<Reply<AcquireResponse>> {
    const request = { body, check: CHECKS.acquired, timeoutMs: LONG_TIMEOUT_MS };
    return this.#client.post<AcquireResponse>(to, pathOf(manager, '/acquire'), request);
  }

  tasks(to: CallTarget, manager: string, query: TasksQuery, signal: AbortSignal): Promise<Reply<TasksResponse>> {
    const words = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
    const timeoutMs = (query.waitMs ?? TASKS_WAIT_MAX_MS) + GRACE_MS;
    const request = { check: CHECKS.tasks, timeoutMs, signal };
    return this.#client.get<TasksResponse>(to, `${pathOf(manager, '/tasks')}?${words.join('&')}`, request);
  }

  answer(to: CallTarget, manager: string, body: AnswerRequest): Promise<Reply<AnswerResponse>> {
    return this.#client.post<AnswerResponse>(to, pathOf(manager, '/answers'), { body, check: CHECKS.answered });
  }

  reserve(to: CallTarget, body: Readonly<Record<string, unknown>>): Promise<Reply<ReservationReply>> {
    const request = { body, check: CHECKS.reserved, timeoutMs: LONG_TIMEOUT_MS };
    return this.#client.post<ReservationReply>(to, '/api/v1/reservations', request);
  }
}
