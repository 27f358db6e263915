// Whether two views say the same. Fields may come in any order: documents that were written by different versions of
// the program, or read back from a store, are equal when they say the same.
import { hash } from 'node:crypto';

/** 128 bits: a missed change would leave a host with an old view, so a chance of it must not exist in practice. */
const DIGEST_LENGTH = 22;

export function digestOf(value: unknown): string {
  return hash('sha256', canonical(value), 'base64url').slice(0, DIGEST_LENGTH);
}

/** JSON text that does not depend on the order of fields. What JSON leaves out is left out here. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((one) => canonical(one)).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  fields.sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join(',')}}`;
}
