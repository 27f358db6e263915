// A host by its name, and what is answered when there is none.
import type { FleetReader, Refusal, Stored } from '../fleet/index.ts';
import { HOST, type Host, type HostId } from './model.ts';

export type StoredHost = Stored<'host', Host>;

export function findHost(fleet: FleetReader, id: string): StoredHost | undefined {
  return fleet.get(HOST, id as HostId);
}

export function unknownHost(id: string): Refusal {
  const message = `There is no host "${id}". List them with "muster hosts list".`;
  return { kind: 'not-found', code: 'unknown-host', message, facts: { host: id } };
}
