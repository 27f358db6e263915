// Whether two registrations reach a cluster in the same way: what was opened by the one serves the other.
import type { Cluster } from '../model.ts';

const FIELDS = ['kind', 'endpoint', 'caCertificate', 'tlsServerName', 'skipTlsVerify', 'credentials'] as const;

export function isSameAccess(one: Cluster, other: Cluster): boolean {
  return FIELDS.every((field) => one[field] === other[field]);
}
