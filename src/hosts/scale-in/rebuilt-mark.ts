// The mark on a forced-down, leaving host whose tenants are rebuilt elsewhere: should it report again, it must not be trusted.
import { mark, put, type Change, type FleetReader } from '../../fleet/index.ts';
import { findHost } from '../decide.ts';
import type { AbandonCommand } from '../evacuator.ts';
import { HOST, type Host } from '../model.ts';

/** A host that does not leave has no mark: its stale copies are swept when it is back. */
export function markUntrustedAfterRebuild(fleet: FleetReader, host: string, { by, nowMs }: AbandonCommand): Change[] {
  const stored = findHost(fleet, host);
  if (stored?.doc.leaving === undefined) return [];
  const { doc } = stored;
  const isConnected = doc.connection.state === 'up' && doc.quarantined === undefined;
  if (stored.doc.leaving.rebuilt === true && !isConnected) return [];
  if (isConnected) mark('operator-fenced-while-connected');
  const marked: Host = {
    ...doc,
    leaving: { ...stored.doc.leaving, rebuilt: true },
    ...(isConnected && { quarantined: { because: 'operator-fenced', atMs: nowMs } }),
    changedBy: by,
    changedAtMs: nowMs,
  };
  return [put(HOST, stored.id, marked)];
}
