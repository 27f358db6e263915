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
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  // Every view that is composed or taken is read through here: one text that grows, and no lists of pieces.
  let text = '';
  if (Array.isArray(value)) {
    for (const one of value) text += text === '' ? canonical(one) : `,${canonical(one)}`;
    return `[${text}]`;
  }
  const fields = value as Readonly<Record<string, unknown>>;
  for (const name of Object.keys(fields).sort()) {
    const field = fields[name];
    if (field !== undefined) text += `${text === '' ? '' : ','}${JSON.stringify(name)}:${canonical(field)}`;
  }
  return `{${text}}`;
}
