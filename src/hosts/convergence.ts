// Waiting until hosts are in line with what the control plane wants: an action of the driver `views`, which watches what agents
// report of the views that they applied.
import type { Reason } from '../fleet/index.ts';
import {
  record,
  formatFact,
  type PlannedStep,
  type ReasonSentences,
  type RecordStep,
  type StoredItem,
} from '../operations/index.ts';
import { isOutOfControl } from './conditions.ts';
import type { Host } from './model.ts';
import { DESIGNATIONS_VERSION } from './service-version.ts';

interface ConvergenceTarget {
  readonly hosts: readonly string[];
  readonly revision: number;
  /** What their agents must know for it to count. */
  readonly serviceVersion?: number;
}

export function awaitConvergence(item: StoredItem, { hosts, ...how }: ConvergenceTarget): PlannedStep {
  const { step, attempt } = item.doc;
  const args = { hosts: [...hosts], ...how };
  return {
    kind: 'act',
    item: item.id,
    expected: item.revision,
    action: { driver: 'views', item: item.id, step, attempt, args },
  };
}

/** An older agent is in line with what it knows of its view, and leaves its switch as a newer one left it. */
export function awaitCleanUp(item: StoredItem, peers: ConvergenceTarget): PlannedStep {
  return awaitConvergence(item, { ...peers, serviceVersion: DESIGNATIONS_VERSION });
}

/** Why a peer cannot be told to take something off its switch now; undefined when it can. */
export function cleanupBlocker(host: Host): 'peer-not-connected' | 'peer-too-old' | 'peer-out-of-control' | undefined {
  if (host.connection.state !== 'up') return 'peer-not-connected';
  if (host.serviceVersion < DESIGNATIONS_VERSION) return 'peer-too-old';
  return isOutOfControl(host) ? 'peer-out-of-control' : undefined;
}

export const viewsSentences: ReasonSentences = {
  'hosts-behind': ({ hosts, inAll }) => {
    const named = Array.isArray(hosts) ? hosts.map(String) : [];
    const more = Number(inAll ?? named.length) - named.length;
    return `These hosts have not converged on their newest view yet: ${formatFact(hosts)}${more > 0 ? ` and ${more} more` : ''}. They are waited for; "muster hosts show ${formatFact(named[0] ?? 'HOST')}" says how one stands.`;
  },
};

/** Hosts that do well are in line at once; of the others every try is written down. */
const AGAIN_MIN_MS = 500;
const AGAIN_MAX_MS = 8000;

/** Somebody is behind: asked again, less and less often. */
export function retryConvergence(item: StoredItem, reason: Reason, nowMs: number): RecordStep {
  const { step, attempt } = item.doc;
  const pauseMs = Math.min(AGAIN_MAX_MS, AGAIN_MIN_MS * 2 ** Math.min(attempt - 1, 10));
  return record(item, { state: 'waiting', step, reason, retryAtMs: nowMs + pauseMs, attempt: attempt + 1 });
}
