// Where the two ends of a handover meet at the lease holder: the old one leaves its connections here, the new one fetches them. In
// memory only, and only for as long as the fleet has that handover: the next holder has none, and the old host brings them anew.
import { readPhase } from '../../dataplane/index.ts';
import { SERVICE, type Handover } from '../../election/index.ts';
import { idOf, mark, type AppliedChange, type FleetReader, type Refusal } from '../../fleet/index.ts';
import type { Clock, Journal } from '../../journal/index.ts';
import type { Log } from '../../operations/index.ts';
import {
  COLLECT_WAIT_MAX_MS,
  NOT_COPIED_NOW,
  type CollectRequest,
  type CollectResponse,
  type ConntrackCopy,
  type DepositRequest,
  type DepositResponse,
} from '../protocol/messages.ts';
import type { Reply } from '../../link/index.ts';
import { LongPollWaiters } from './long-poll-waiters.ts';

export interface ConntrackRelayOptions {
  readonly journal: Pick<Journal, 'fleet'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Copying takes seconds: a deposit that is older is not fetched any more. */
const RETENTION_MS = 60_000;
/** About 60 MB of text. Beyond it handovers continue, and connections that find no space may be cut. */
const CONNECTIONS_MAX = 500_000;

interface StoredDeposit extends Omit<ConntrackCopy, 'phase'> {
  readonly phase: Handover['phase'];
  readonly from: string;
  readonly to: string;
  readonly connections: readonly string[];
  readonly inAll: number;
  readonly atMs: number;
}

const NOT_YET: Reply<CollectResponse> = { kind: 'answer', answer: { kind: 'not-yet' } };

export class ConntrackRelay {
  readonly #options: ConntrackRelayOptions;
  /** By service: one handover at a time. */
  readonly #deposits = new Map<string, StoredDeposit>();
  readonly #waiters = new LongPollWaiters();

  constructor(options: ConntrackRelayOptions) {
    this.#options = options;
  }

  /** How many connections are deposited. */
  get size(): number {
    return [...this.#deposits.values()].reduce((sum, { connections }) => sum + connections.length, 0);
  }

  deposit(host: string, { service, operation, phase, connections, inAll }: DepositRequest): Reply<DepositResponse> {
    const { clock, log } = this.#options;
    const passed = this.#findActiveHandover({ service, operation, phase });
    if (passed?.from !== host) return toRefusedReply(refuseNotCopied(service));
    this.#deposits.delete(service);
    const kept = connections.slice(0, Math.max(0, CONNECTIONS_MAX - this.size));
    if (kept.length < inAll) {
      mark('conntrack-deposit-truncated');
      log.warn({ service, host, inAll, kept: kept.length }, 'not all connections of a service are copied');
    }
    const { to } = passed;
    this.#deposits.set(service, {
      service,
      operation,
      phase: passed.phase,
      from: host,
      to,
      connections: kept,
      inAll,
      atMs: clock.nowMs(),
    });
    this.#waiters.wake(service);
    return { kind: 'answer', answer: { kept: kept.length } };
  }

  /** The deposit of the old host, as soon as it is there. `stop` says when this server may not answer any more. */
  async collect(
    host: string,
    request: CollectRequest,
    stop: () => Reply<never> | undefined,
  ): Promise<Reply<CollectResponse>> {
    const { clock } = this.#options;
    const untilMs = clock.nowMs() + Math.min(request.waitMs ?? COLLECT_WAIT_MAX_MS, COLLECT_WAIT_MAX_MS);
    for (;;) {
      const stopped = stop();
      if (stopped !== undefined) return stopped;
      const passed = this.#findActiveHandover(request);
      if (passed?.to !== host) return toRefusedReply(refuseNotCopied(request.service));
      const held = this.#deposits.get(request.service);
      if (held !== undefined && isForHandover(held, passed)) {
        const { connections, inAll } = held;
        return { kind: 'answer', answer: { kind: 'connections', connections, inAll } };
      }
      if (clock.nowMs() >= untilMs || (await this.#waiters.wait(request.service, untilMs)) === 'expired')
        return NOT_YET;
    }
  }

  /** The handover that a request names, if it is in that phase now. */
  #findActiveHandover({ service, operation, phase }: ConntrackCopy): Handover | undefined {
    const { fleet } = this.#options.journal;
    const now = handoverOf(fleet, service);
    return now?.operation === operation && now.phase === readPhase(phase) ? now : undefined;
  }

  /** Services were changed: deposits of those that are past the phase are dropped, and their waits end. */
  onCommit(applied: readonly AppliedChange[]): void {
    const { fleet } = this.#options.journal;
    for (const { kind, before, after } of applied) {
      const id = (after ?? before)?.id;
      if (kind !== SERVICE.name || id === undefined) continue;
      const held = this.#deposits.get(id);
      const now = handoverOf(fleet, id);
      if (held !== undefined && (now === undefined || !isForHandover(held, now))) this.#deposits.delete(id);
      this.#waiters.wake(id);
    }
  }

  expire(nowMs: number): void {
    this.#waiters.expire(nowMs);
    for (const { service, atMs } of this.#deposits.values())
      if (nowMs - atMs > RETENTION_MS) this.#deposits.delete(service);
  }

  /** The fleet may have been replaced: all waits are checked again, and deposits that are no longer needed are dropped. */
  recheck(): void {
    const { fleet } = this.#options.journal;
    for (const held of this.#deposits.values()) {
      const now = handoverOf(fleet, held.service);
      if (now === undefined || !isForHandover(held, now)) this.#deposits.delete(held.service);
    }
    this.#waiters.wakeAll();
  }

  /** The lease changed or the server stops: hosts deposit again at the next holder. */
  clear(): void {
    this.#deposits.clear();
    this.#waiters.wakeAll();
  }
}

function handoverOf(fleet: FleetReader, service: string): Handover | undefined {
  return fleet.get(SERVICE, idOf(SERVICE, service))?.doc.handover;
}

function isForHandover({ operation, phase, from, to }: StoredDeposit, now: Handover): boolean {
  return operation === now.operation && phase === now.phase && from === now.from && to === now.to;
}

function refuseNotCopied(service: string): Refusal {
  const message = `Connections of ${service} are not copied by this host now: the handover is in another phase, or has ended. The agent goes on with its next view.`;
  return { kind: 'conflict', code: NOT_COPIED_NOW, message };
}

function toRefusedReply({ code, message }: Refusal): Reply<never> {
  return { kind: 'refused', code, message };
}
