// What is said to whoever watches a simulated cluster, and how long.
import type { ClusterCallOptions, WatchedChange, WatchedKind } from '../cluster-api.ts';
import type { SimulatedClusterNode, SimulatedPod } from './objects.ts';

export type NotifyWatcher = (change: WatchedChange) => void;

/** A watch of these lasts until its signal is aborted. */
export async function watchUntilAborted(
  subscribe: (notify: NotifyWatcher) => () => void,
  { what, onChange }: { readonly what: WatchedKind; readonly onChange: NotifyWatcher },
  { signal }: ClusterCallOptions,
): Promise<void> {
  signal.throwIfAborted();
  const wanted: WatchedChange['kind'] = what === 'nodes' ? 'node' : 'pod';
  const unsubscribe = subscribe((change) => {
    if (change.kind === wanted) onChange(change);
  });
  const ended = Promise.withResolvers<never>();
  signal.addEventListener('abort', () => ended.reject(signal.reason as Error), { once: true });
  try {
    await ended.promise;
  } finally {
    unsubscribe();
  }
}

export function changeOfNode({ name }: SimulatedClusterNode): WatchedChange {
  return { kind: 'node', node: name };
}

export function changeOfPod({ namespace, node }: SimulatedPod): WatchedChange {
  return { kind: 'pod', namespace, ...(node !== undefined && { node }) };
}
