// A host by its name, and what is answered when there is none.
import type { FleetReader, Refusal, Stored } from '../fleet/index.ts';
import { HOST, type Host, type HostId } from './model.ts';

export type StoredHost = Stored<'host', Host>;

export function findHost(fleet: FleetReader, id: string): StoredHost | undefined {
  return fleet.get(HOST, id as HostId);
}

/** What an id that several hosts have is refused with: they are named, so that one of them can be. */
export function ambiguousHost(form: string, names: readonly string[]): Refusal {
  const message = `"${form}" is an id of ${names.length} hosts: ${names.join(', ')}. Say the name of the one that you mean.`;
  return { kind: 'conflict', code: 'ambiguous-host', message, facts: { host: form, candidates: names } };
}

export function unknownHost(id: string): Refusal {
  const message = `There is no host "${id}". List them with "muster hosts list".`;
  return { kind: 'not-found', code: 'unknown-host', message, facts: { host: id } };
}
