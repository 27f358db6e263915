// Where the two ends of a hand-over meet at the lease holder: the old one leaves its connections here, the new one fetches them. In
// memory only, and only for as long as the fleet says that this is going on: the next holder has none, and is brought them anew.
import { SERVICE, type HandOver } from '../election/index.ts';
import { idOf, mark, type AppliedChange, type FleetReader, type Refusal } from '../fleet/index.ts';
import type { Clock, Journal } from '../journal/index.ts';
import type { Log } from '../operations/index.ts';
import {
  COLLECT_WAIT_MAX_MS,
  NOT_COPIED_NOW,
  type Collect,
  type Collected,
  type Copy,
  type Deposit,
  type Deposited,
} from './messages.ts';
import type { Reply } from './ports.ts';
import { Waiters } from './waiters.ts';

export interface ExchangeOptions {
  readonly journal: Pick<Journal, 'fleet'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Copying takes seconds: what lies here longer is not fetched any more. */
const KEPT_MS = 60_000;
/** About 60 MB of text. Beyond it hand-overs go on, and connections that find no room may be cut. */
const HELD_MAX = 500_000;

interface Held extends Copy {
  readonly from: string;
  readonly to: string;
  readonly connections: readonly string[];
  readonly inAll: number;
  readonly atMs: number;
}

const NOT_YET: Reply<Collected> = { kind: 'answer', answer: { kind: 'not-yet' } };

export class Exchange {
  readonly #options: ExchangeOptions;
  /** By service: it is handed over once at a time. */
  readonly #held = new Map<string, Held>();
  readonly #waiters = new Waiters();

  constructor(options: ExchangeOptions) {
    this.#options = options;
  }

  /** How many connections lie here. */
  get size(): number {
    return [...this.#held.values()].reduce((sum, { connections }) => sum + connections.length, 0);
  }

  deposit(host: string, { service, operation, phase, connections, inAll }: Deposit): Reply<Deposited> {
    const { clock, log } = this.#options;
    const passed = this.#handOverOf({ service, operation, phase });
    if (passed?.from !== host) return refused(notHandedOver(service));
    this.#held.delete(service);
    const kept = connections.slice(0, Math.max(0, HELD_MAX - this.size));
    if (kept.length < inAll) {
      mark('deposit-cut');
      log.warn({ service, host, inAll, kept: kept.length }, 'not all connections of a service are copied');
    }
    const { to } = passed;
    this.#held.set(service, {
      service,
      operation,
      phase,
      from: host,
      to,
      connections: kept,
      inAll,
      atMs: clock.nowMs(),
    });
    this.#waiters.changed(service);
    return { kind: 'answer', answer: { kept: kept.length } };
  }

  /** What the old end brought, as soon as it is there. `stop` says when nobody may be answered here any more. */
  async collect(host: string, ask: Collect, stop: () => Reply<never> | undefined): Promise<Reply<Collected>> {
    const { clock } = this.#options;
    const untilMs = clock.nowMs() + Math.min(ask.waitMs ?? COLLECT_WAIT_MAX_MS, COLLECT_WAIT_MAX_MS);
    for (;;) {
      const stopped = stop();
      if (stopped !== undefined) return stopped;
      const passed = this.#handOverOf(ask);
      if (passed?.to !== host) return refused(notHandedOver(ask.service));
      const held = this.#held.get(ask.service);
      if (held !== undefined && isOf(held, passed)) {
        const { connections, inAll } = held;
        return { kind: 'answer', answer: { kind: 'connections', connections, inAll } };
      }
      if (clock.nowMs() >= untilMs || (await this.#waiters.wait(ask.service, untilMs)) === 'over') return NOT_YET;
    }
  }

  /** The hand-over that somebody speaks of, if it is at that point now. */
  #handOverOf({ service, operation, phase }: Copy): HandOver | undefined {
    const { fleet } = this.#options.journal;
    const now = handOverOf(fleet, service);
    return now?.operation === operation && now.phase === phase ? now : undefined;
  }

  /** What was done to services: of those that are past it nothing is kept, and nobody waits for it. */
  touch(applied: readonly AppliedChange[]): void {
    const { fleet } = this.#options.journal;
    for (const { kind, before, after } of applied) {
      const id = (after ?? before)?.id;
      if (kind !== SERVICE.name || id === undefined) continue;
      const held = this.#held.get(id);
      const now = handOverOf(fleet, id);
      if (held !== undefined && (now === undefined || !isOf(held, now))) this.#held.delete(id);
      this.#waiters.changed(id);
    }
  }

  expire(nowMs: number): void {
    this.#waiters.expire(nowMs);
    for (const { service, atMs } of this.#held.values()) if (nowMs - atMs > KEPT_MS) this.#held.delete(service);
  }

  /** The fleet may be another one: everybody looks again, and what is not wanted any more goes. */
  look(): void {
    const { fleet } = this.#options.journal;
    for (const held of this.#held.values()) {
      const now = handOverOf(fleet, held.service);
      if (now === undefined || !isOf(held, now)) this.#held.delete(held.service);
    }
    this.#waiters.changedAll();
  }

  /** Another lease, or the end: what was brought here is brought to the next holder. */
  clear(): void {
    this.#held.clear();
    this.#waiters.changedAll();
  }
}

function handOverOf(fleet: FleetReader, service: string): HandOver | undefined {
  return fleet.get(SERVICE, idOf(SERVICE, service))?.doc.handOver;
}

function isOf({ operation, phase, from, to }: Held, now: HandOver): boolean {
  return operation === now.operation && phase === now.phase && from === now.from && to === now.to;
}

function notHandedOver(service: string): Refusal {
  const message = `Connections of ${service} are not copied by this host now.`;
  return { kind: 'conflict', code: NOT_COPIED_NOW, message };
}

function refused({ code, message }: Refusal): Reply<never> {
  return { kind: 'refused', code, message };
}
