// What a heartbeat says of a host's convergence: the view that it has applied, and the services of that view that are not ready.
// Pure; what is too old to count is left as it was known before.
import type { Host } from '../../hosts/index.ts';
import type { Heartbeat } from '../protocol/messages.ts';

export interface Convergence {
  /** The view that the host has converged on. */
  readonly applied?: string | undefined;
  /** Why services of that view are not ready there, by their ids. */
  readonly unready?: ReadonlyMap<string, string> | undefined;
}

interface ConvergenceContext {
  readonly host: Host | undefined;
  readonly previous: Convergence | undefined;
  /** Of the view that was last given to it. */
  readonly sentRevision: number;
}

export function readConvergence(beat: Heartbeat, { host, previous, sentRevision }: ConvergenceContext): Convergence {
  const { applied, asOf, serviceVersion, unready } = beat;
  // What an agent makes of its view depends on what it knows: until that is written down, it has converged on nothing.
  if (host?.serviceVersion !== serviceVersion) return {};
  // It was said before the agent got its last view, and came late.
  if (asOf !== undefined && asOf < sentRevision) return { applied: previous?.applied, unready: previous?.unready };
  const reasons = unready && new Map(unready.map(({ service, because }) => [service, because]));
  return { applied, unready: reasons };
}
