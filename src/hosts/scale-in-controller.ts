// Looks after hosts that were found empty: one on which something appears is draining again. It looks at what is; commits only
// make it look sooner.
import { idOf, mark, put, valueOf, type FleetReader } from '../fleet/index.ts';
import { accept, NotHolder, StoreUnavailable, type Clock, type Decision, type Journal } from '../journal/index.ts';
import { newOperation, OPERATION, type Log } from '../operations/index.ts';
import { findHost } from './decide.ts';
import type { Evacuator } from './evacuator.ts';
import { HOST, HOSTS_BY_STATE, type Host } from './model.ts';
import { isEmpty } from './scale-in-evidence.ts';
import { SCALE_IN } from './scale-in-settings.ts';
import { DRAIN_KIND, END_KIND, openWork } from './scale-in-work.ts';

export interface ScaleInOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
  readonly evacuators: readonly Evacuator[];
  readonly ids: { next(prefix: string): string };
  readonly lookMs?: number;
}

const LOOK_MS = 5000;

export class ScaleInController {
  readonly #options: ScaleInOptions;

  constructor(options: ScaleInOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, lookMs = LOOK_MS } = this.#options;
    while (!signal.aborted) {
      await this.look();
      await clock.sleep(lookMs, signal);
    }
  }

  /** Costs what drained hosts there are. */
  async look(): Promise<void> {
    const { journal, clock, evacuators } = this.#options;
    if (journal.fence === undefined) return;
    const nowMs = clock.nowMs();
    for (const { id } of [...journal.fleet.find(HOSTS_BY_STATE, 'state:drained')]) {
      if (isEmpty(journal.fleet, evacuators, { host: id, nowMs })) continue;
      await this.#drainAgain(id);
    }
  }

  async #drainAgain(host: string): Promise<void> {
    const { journal, clock, evacuators, ids, log } = this.#options;
    const operation = ids.next('op');
    const how = { host, operation, nowMs: clock.nowMs(), evacuators };
    try {
      await journal.submit({ by: 'scale-in', operation, decide: (fleet) => drainedAgain(fleet, how) });
    } catch (error) {
      // The next look, here or at the next holder, finds the same.
      if (!(error instanceof NotHolder) && !(error instanceof StoreUnavailable)) throw error;
      log.warn({ host, code: error.code }, 'not drained again yet');
    }
  }
}

interface DrainAgain {
  readonly host: string;
  readonly operation: string;
  readonly evacuators: readonly Evacuator[];
  readonly nowMs: number;
}

/** To draining, with an operation of its own. One that is told to leave is judged again by that. */
function drainedAgain(fleet: FleetReader, again: DrainAgain): Decision<boolean> {
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
    items: [{ key: id, target: { kind: HOST.name, id }, step: 'hand-over' }],
  });
  return accept([put(HOST, id, draining), ...began], true);
}
