// A digest of views: equal views have equal digests. The order of fields does not matter: documents written by different versions of the
// program, or read back from a store, may differ in it.
import { hash } from 'node:crypto';

/** 128 bits: a collision would leave a host with an old view, so it must not occur in practice. */
const DIGEST_LENGTH = 22;

export function digestOf(value: unknown): string {
  return hash('sha256', canonical(value), 'base64url').slice(0, DIGEST_LENGTH);
}

/** JSON text that does not depend on the order of fields. What JSON omits is omitted here. */
export function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  // Every composed or received view passes here: one text that grows, and no intermediate lists.
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
