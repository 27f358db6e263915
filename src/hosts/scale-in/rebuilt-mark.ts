// The mark on a host that leaves and is off, as somebody vouches, when something of it is built elsewhere: should it be heard, it
// is not trusted.
import { mark, put, type Change, type FleetReader } from '../../fleet/index.ts';
import { findHost } from '../decide.ts';
import type { AbandonCommand } from '../evacuator.ts';
import { HOST, type Host } from '../model.ts';

/** One that does not leave has no mark: its copies are swept when it is back. */
export function markUntrustedAfterRebuild(fleet: FleetReader, host: string, { by, nowMs }: AbandonCommand): Change[] {
  const stored = findHost(fleet, host);
  if (stored?.doc.leaving === undefined) return [];
  const { doc } = stored;
  const isHeard = doc.connection.state === 'up' && doc.quarantined === undefined;
  if (stored.doc.leaving.rebuilt === true && !isHeard) return [];
  if (isHeard) mark('operator-fenced-while-connected');
  const marked: Host = {
    ...doc,
    leaving: { ...stored.doc.leaving, rebuilt: true },
    ...(isHeard && { quarantined: { because: 'operator-fenced', atMs: nowMs } }),
    changedBy: by,
    changedAtMs: nowMs,
  };
  return [put(HOST, stored.id, marked)];
}
