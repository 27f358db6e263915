// A digest of views: equal views have equal digests. The order of fields does not matter: documents written by different versions of the
// program, or read back from a store, may differ in it.
import { createHash, hash } from 'node:crypto';
import type { Steps } from '../../fleet/index.ts';

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

/** Text that is hashed in one step: some hundred microseconds. */
const STEP_CHARACTERS = 16 * 1024;

/** The same digest in steps, for a view that is as large as the fleet. */
export function* digestInSteps(value: unknown): Steps<string> {
  const sha256 = createHash('sha256');
  let text = '';
  for (const piece of canonicalPieces(value)) {
    text += piece;
    if (text.length < STEP_CHARACTERS) continue;
    sha256.update(text);
    text = '';
    yield;
  }
  return sha256.update(text).digest('base64url').slice(0, DIGEST_LENGTH);
}

/** The text of `canonical`, in pieces: entries of lists as a whole where they are flat. */
function* canonicalPieces(value: unknown): Generator<string, void> {
  if (isFlat(value)) {
    yield canonical(value);
    return;
  }
  let before = '';
  if (Array.isArray(value)) {
    yield '[';
    for (const one of value) {
      if (isFlat(one)) yield before + canonical(one);
      else {
        yield before;
        yield* canonicalPieces(one);
      }
      before = ',';
    }
    yield ']';
    return;
  }
  yield '{';
  const fields = value as Readonly<Record<string, unknown>>;
  for (const name of Object.keys(fields).sort()) {
    const field = fields[name];
    if (field === undefined) continue;
    yield `${before}${JSON.stringify(name)}:`;
    yield* canonicalPieces(field);
    before = ',';
  }
  yield '}';
}

/** Text, a number, or an object that has no others in it: as many fields as its schema has. */
function isFlat(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return value.length === 0;
  return Object.values(value).every((field) => typeof field !== 'object' || field === null);
}
