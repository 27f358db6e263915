// Restarts drains: a drained host on which a tenant appears drains again, and a host that becomes empty after its deadline becomes drained.
// Runs at the lease holder and reconciles from current state; it keeps nothing across restarts.
import { idOf, mark, put, valueOf, type FleetReader } from '../../fleet/index.ts';
import {
  accept,
  LeaseHolderLoop,
  type Clock,
  type Decision,
  type Journal,
  type LeasePass,
  type Log,
} from '../../journal/index.ts';
import { newOperation, OPERATION } from '../../operations/index.ts';
import { findHost, type StoredHost } from '../decide.ts';
import type { Evacuator } from '../evacuator.ts';
import { HOST, HOSTS_BY_STATE, type Host } from '../model.ts';
import { isEmpty, isWorking, unsettledReasonsOf } from './evidence.ts';
import { SCALE_IN } from './settings.ts';
import { DRAIN_KIND, END_KIND, openWork } from './host-items.ts';

export interface ScaleInOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
  readonly evacuators: readonly Evacuator[];
  readonly ids: { next(prefix: string): string };
  readonly intervalMs?: number;
}

const INTERVAL_MS = 5000;

export class ScaleInController {
  readonly #options: ScaleInOptions;
  readonly #loop: LeaseHolderLoop;

  constructor(options: ScaleInOptions) {
    this.#options = options;
    this.#loop = new LeaseHolderLoop({
      ...options,
      name: 'scale-in',
      reconcile: (pass) => this.#reconcileHosts(pass),
      intervalMs: options.intervalMs ?? INTERVAL_MS,
    });
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal);
  }

  async reconcile(): Promise<void> {
    await this.#loop.reconcile();
  }

  /** Costs what hosts there are that are drained, or that no operation drains. */
  async #reconcileHosts({ nowMs }: LeasePass): Promise<void> {
    const { journal, evacuators } = this.#options;
    const { fleet } = journal;
    for (const { id } of [...fleet.find(HOSTS_BY_STATE, 'state:drained')]) {
      if (isEmpty(fleet, evacuators, { host: id, nowMs })) continue;
      await this.#decide(id, drainAgain);
    }
    for (const host of [...fleet.find(HOSTS_BY_STATE, 'state:draining')]) {
      if (isLeftEmpty(fleet, evacuators, { host, nowMs })) await this.#decide(host.id, markDrained);
    }
  }

  async #decide(host: string, step: (fleet: FleetReader, looked: DrainCheck) => Decision<boolean>): Promise<void> {
    const { journal, clock, evacuators, ids } = this.#options;
    const operation = ids.next('op');
    const looked = { host, operation, nowMs: clock.nowMs(), evacuators };
    await journal.submit({ by: 'scale-in', operation, decide: (fleet) => step(fleet, looked) });
  }
}

interface DrainCheck {
  readonly host: string;
  readonly operation: string;
  readonly evacuators: readonly Evacuator[];
  readonly nowMs: number;
}

/** Back to draining, with an operation of its own. A host that was ordered to leave is decided by that operation instead. */
function drainAgain(fleet: FleetReader, again: DrainCheck): Decision<boolean> {
  const { evacuators, nowMs } = again;
  const stored = findHost(fleet, again.host);
  if (stored?.doc.state !== 'drained' || stored.doc.leaving === undefined) return accept([], false);
  const { id, doc } = stored;
  if (openWork(fleet, id, END_KIND).length > 0 || isEmpty(fleet, evacuators, { host: id, nowMs }))
    return accept([], false);
  mark('drained-host-drains-again');
  const operation = idOf(OPERATION, again.operation);
  const leaving = { ...stored.doc.leaving, operation };
  const draining: Host = { ...doc, state: 'draining', leaving, changedBy: 'scale-in', changedAtMs: nowMs };
  const began = newOperation({
    id: operation,
    kind: DRAIN_KIND,
    title: `scale in host ${id} again`,
    by: leaving.by,
    why: 'something appeared on a host that was found empty',
    site: doc.site,
    nowMs,
    deadlineMs: valueOf(fleet, SCALE_IN).drainDeadlineMs,
    items: [{ key: id, target: { kind: HOST.name, id }, step: 'handover' }],
  });
  return accept([put(HOST, id, draining), ...began], true);
}

/** No operation drains it any more, and nothing lives there. Cheap while an operation does. */
function isLeftEmpty(
  fleet: FleetReader,
  evacuators: readonly Evacuator[],
  { host, nowMs }: { readonly host: StoredHost; readonly nowMs: number },
): boolean {
  if (host.doc.state !== 'draining' || openWork(fleet, host.id, DRAIN_KIND, END_KIND).length > 0) return false;
  if (!isEmpty(fleet, evacuators, { host: host.id, nowMs }) || isWorking(fleet, host)) return false;
  const [unsettled] = unsettledReasonsOf(fleet, evacuators, host.id);
  return unsettled === undefined;
}

function markDrained(fleet: FleetReader, { host: id, evacuators, nowMs }: DrainCheck): Decision<boolean> {
  const host = findHost(fleet, id);
  if (host === undefined || !isLeftEmpty(fleet, evacuators, { host, nowMs })) return accept([], false);
  return accept(
    [put(HOST, host.id, { ...host.doc, state: 'drained', changedBy: 'scale-in', changedAtMs: nowMs })],
    true,
  );
}
