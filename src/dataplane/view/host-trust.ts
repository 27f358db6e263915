// Whether a host is trusted to take part in the data plane. A removed or quarantined host gets empty view parts.
import type { Host } from '../../hosts/index.ts';

export function isTrusted(doc: unknown): boolean {
  const host = doc as Host | undefined;
  return host !== undefined && host.quarantined === undefined && host.state !== 'removed';
}
