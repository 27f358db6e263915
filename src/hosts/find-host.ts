// Finds a host by its name, and refuses when there is none or the id is ambiguous.
import type { FleetReader, Refusal, Stored } from '../fleet/index.ts';
import { HOST, type Host, type HostId } from './model.ts';

export type StoredHost = Stored<'host', Host>;

export function findHost(fleet: FleetReader, id: string): StoredHost | undefined {
  return fleet.get(HOST, id as HostId);
}

/** Undefined for no host, and for one that is not there. */
export function siteOfHost(fleet: FleetReader, host: string | undefined): string | undefined {
  return host === undefined ? undefined : findHost(fleet, host)?.doc.site;
}

/** The refusal for an id that several hosts have: it names them, so that the caller can choose. */
export function ambiguousHost(form: string, names: readonly string[]): Refusal {
  const message = `Several hosts have the id "${form}": ${names.join(', ')}. Use the name of one of them.`;
  return { kind: 'conflict', code: 'ambiguous-host', message, facts: { host: form, candidates: names } };
}

export function unknownHost(id: string): Refusal {
  const message = `There is no host "${id}". List them with "muster hosts list".`;
  return { kind: 'not-found', code: 'unknown-host', message, facts: { host: id } };
}
