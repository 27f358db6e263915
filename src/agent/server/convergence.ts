// Derives a host's convergence from a heartbeat: the view that it has applied, and the services of that view that are not ready. Pure; a
// heartbeat that is too old leaves the previous state.
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
  /** Of the view that was last sent to it. */
  readonly sentRevision: number;
}

export function readConvergence(beat: Heartbeat, { host, previous, sentRevision }: ConvergenceContext): Convergence {
  const { applied, asOf, serviceVersion, unready } = beat;
  // How an agent reads its view depends on its service version: until that is recorded, it has converged on nothing.
  if (host?.serviceVersion !== serviceVersion) return {};
  // The heartbeat was sent before the agent got its last view, and arrived late.
  if (asOf !== undefined && asOf < sentRevision) return { applied: previous?.applied, unready: previous?.unready };
  const reasons = unready && new Map(unready.map(({ service, because }) => [service, because]));
  return { applied, unready: reasons };
}
