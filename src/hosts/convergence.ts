// Waits until hosts have converged on their views: an action of the driver `views`, which compares the revisions that agents report as
// applied. It must never count a host whose agent cannot reconcile its switch.
import type { Reason } from '../fleet/index.ts';
import {
  formatFact,
  retryWithBackoff,
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
  /** The service version that agents need for their report to count. */
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

/** An older agent reports as converged what it can read of its view, and leaves its switch as a newer agent left it. */
export function awaitCleanUp(item: StoredItem, peers: ConvergenceTarget): PlannedStep {
  return awaitConvergence(item, { ...peers, serviceVersion: DESIGNATIONS_VERSION });
}

/** Why a peer cannot remove something from its switch now; undefined when it can. */
export function cleanupBlocker(host: Host): 'peer-not-connected' | 'peer-too-old' | 'peer-out-of-control' | undefined {
  if (host.connection.state !== 'up') return 'peer-not-connected';
  if (host.serviceVersion < DESIGNATIONS_VERSION) return 'peer-too-old';
  return isOutOfControl(host) ? 'peer-out-of-control' : undefined;
}

export const viewsSentences: ReasonSentences = {
  'hosts-behind': ({ hosts, inAll }) => {
    const named = Array.isArray(hosts) ? hosts.map(String) : [];
    const more = Number(inAll ?? named.length) - named.length;
    return `These hosts have not converged on their newest view yet: ${formatFact(hosts)}${more > 0 ? ` and ${more} more` : ''}. The operation waits for them; "muster hosts show ${formatFact(named[0] ?? 'HOST')}" shows the state of one.`;
  },
};

/** Healthy hosts converge at once; of the others every try is written down. */
const CONVERGENCE_BACKOFF = { firstMs: 500, longestMs: 8000 };

/** A host is behind: check again with a growing delay. */
export function retryConvergence(item: StoredItem, reason: Reason, nowMs: number): RecordStep {
  return retryWithBackoff(item, reason, { nowMs, policy: CONVERGENCE_BACKOFF });
}
