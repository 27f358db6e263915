// Reconciles instances whose ports are not connected, or that ended by themselves, at the lease holder. Changes of instances, ports and network events trigger a check of the
// instances concerned; a new holder checks all instances and alarms once, a page at a time. It keeps nothing across restarts.
import { ALARM } from '../../alarms/index.ts';
import { idOf, type AppliedChange } from '../../fleet/index.ts';
import {
  accept,
  isJournalAway,
  LeaseHolderLoop,
  type Clock,
  type Journal,
  type LeasePass,
  type Log,
} from '../../journal/index.ts';
import { NETWORK_EVENT, PORT, type NetworkEvent, type Port } from '../../network/index.ts';
import { decideDegraded } from './alarm.ts';
import { DEGRADED } from './degraded.ts';
import { ENDED } from './ended.ts';
import { INSTANCE } from '../model.ts';

export interface DegradedControllerOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
}

/** Instances per page: small enough that nothing else waits for long. */
const PAGE = 500;
const BY = 'instances';
/** A failed commit is tried again after this time. */
const RETRY_MS = 1000;
/** Only bounds a sleep that changes end. */
const IDLE_MS = 60_000;

export class DegradedController {
  readonly #options: DegradedControllerOptions;
  readonly #loop: LeaseHolderLoop;
  /** Instances that something happened to. Lost in a crash, found again by the look through all of them. */
  readonly #woken = new Set<string>();
  /** Instances to check because of time alone. */
  readonly #scheduled = new Map<string, number>();
  /** The term in which all instances are being, or were, scanned, and the position. */
  #scan: { readonly epoch: number; after: string | undefined } | undefined;

  constructor(options: DegradedControllerOptions) {
    this.#options = options;
    this.#loop = new LeaseHolderLoop({
      ...options,
      name: 'degraded-instances',
      reconcile: (pass) => this.#reconcileDue(pass),
      intervalMs: () => this.#untilDueMs(),
      // Without the lease it forgets what it was woken for.
      runsAsFollower: true,
      subscribe: () => options.journal.onCommit(({ applied }) => this.wake(applied)),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#loop.run(signal);
  }

  wake(applied: readonly AppliedChange[]): void {
    // A new holder scans all of them anyway.
    if (this.#options.journal.fence === undefined) return;
    for (const change of applied) {
      for (const id of instancesOf(change)) this.#woken.add(id);
    }
    if (this.#woken.size > 0) this.#loop.wake();
  }

  /** Looks at all that is due. */
  async reconcile(): Promise<void> {
    await this.#loop.reconcile();
  }

  async #reconcileDue({ nowMs, fence }: LeasePass): Promise<void> {
    if (fence === undefined) {
      this.#woken.clear();
      this.#scheduled.clear();
      this.#scan = undefined;
      return;
    }
    const due = this.#takeDue(fence.epoch, nowMs);
    for (const id of due) {
      if (!(await this.#reconcileInstance(id, nowMs))) this.#scheduled.set(id, nowMs + RETRY_MS);
    }
  }

  #untilDueMs(): number {
    if (this.#scan === undefined) return RETRY_MS;
    if (this.#scan.after !== undefined || this.#woken.size > 0) return 0;
    const nowMs = this.#options.clock.nowMs();
    return Math.max(0, Math.min(IDLE_MS, ...[...this.#scheduled.values()].map((atMs) => atMs - nowMs)));
  }

  #takeDue(epoch: number, nowMs: number): readonly string[] {
    if (this.#scan?.epoch !== epoch) {
      this.#scan = { epoch, after: '' };
      for (const { id } of this.#options.journal.fleet.all(ALARM)) {
        const [code = '', instance] = splitAlarmId(id);
        if (instance !== undefined && (code === DEGRADED || code === ENDED)) this.#woken.add(instance);
      }
    }
    const due = new Set(this.#woken);
    this.#woken.clear();
    for (const [id, atMs] of this.#scheduled) if (atMs <= nowMs) due.add(id);
    for (const id of due) this.#scheduled.delete(id);
    if (this.#scan.after !== undefined) {
      const page = this.#options.journal.fleet.page(INSTANCE, idOf(INSTANCE, this.#scan.after), PAGE);
      for (const { id } of page) due.add(id);
      this.#scan.after = page.length < PAGE ? undefined : page.at(-1)?.id;
    }
    return [...due].sort();
  }

  /** False when the commit failed. Most checks change nothing: those cost the decider nothing. */
  async #reconcileInstance(id: string, nowMs: number): Promise<boolean> {
    const { journal, log } = this.#options;
    const planned = decideDegraded(journal.fleet, id, nowMs);
    if (planned.recheckAtMs !== undefined) this.#scheduled.set(id, planned.recheckAtMs);
    if (planned.changes.length === 0) return true;
    try {
      await journal.submit({
        by: BY,
        why: `ports of instance ${id}`,
        decide: (fleet) => accept(decideDegraded(fleet, id, nowMs).changes, null),
      });
      return true;
    } catch (error) {
      if (!isJournalAway(error)) throw error;
      log.warn({ instance: id, code: error.code }, 'instance not looked after yet');
      return false;
    }
  }
}

function splitAlarmId(id: string): readonly string[] {
  const at = id.indexOf(':');
  return [id.slice(0, at), id.slice(at + 1)];
}

/** The instances whose ports a change may have connected or disconnected. */
function instancesOf({ kind, before, after }: AppliedChange): readonly string[] {
  switch (kind) {
    case INSTANCE.name:
      return [(after ?? before)?.id ?? ''];
    case PORT.name:
    case NETWORK_EVENT.name: {
      const docs = [before?.doc, after?.doc] as (Port | NetworkEvent | undefined)[];
      return docs.flatMap((doc) => doc?.instance ?? []);
    }
    default:
      return [];
  }
}
