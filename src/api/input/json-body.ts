// Request bodies: JSON of bounded depth, without values that JSON cannot represent exactly and without duplicate keys. Input is refused,
// never repaired.
import { countFields, findDuplicateField } from './duplicate-keys.ts';
import { HttpProblem } from '../problem.ts';

/** Our deepest document has five levels. */
const DEPTH_MAX = 32;
/** Only a text with one of these can hold what is refused below; nearly none has one. */
const SUSPICIOUS = /\\u|__proto__|\0/;

/** `what` is a whole body, or a line of one. */
export function parseJson(text: string, what: 'body' | 'line' = 'body'): unknown {
  if (text.trim() === '') return undefined;
  const colons = colonsIn(text);
  if (colons === undefined)
    throw jsonProblem(
      `The ${what} is nested deeper than ${DEPTH_MAX} levels. No request needs that: compare it with /api/v1/openapi.json.`,
    );
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw jsonProblem(`The ${what} is not JSON. Check quotes, commas and brackets.`);
  }
  if (countFields(value) !== colons) refuseDuplicate(text, what);
  if (SUSPICIOUS.test(text) || !text.isWellFormed()) refuseBroken(value, what);
  return value;
}

/**
 * Colons outside strings, one for each field; undefined when brackets are too deep. Cheaper than parsing, and a parse of a million
 * brackets is not done at all.
 */
function colonsIn(text: string): number | undefined {
  let colons = 0;
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (quoted) {
      if (code === 0x5c) at += 1;
      else if (code === 0x22) quoted = false;
    } else if (code === 0x22) quoted = true;
    else if (code === 0x3a) colons += 1;
    else if (code === 0x7b || code === 0x5b) {
      depth += 1;
      if (depth > DEPTH_MAX) return undefined;
    } else if (code === 0x7d || code === 0x5d) depth -= 1;
  }
  return colons;
}

function refuseDuplicate(text: string, what: string): void {
  const field = findDuplicateField(text);
  throw jsonProblem(`The ${what} has the field ${field} twice. Leave one of them out.`, field);
}

/** NUL cannot be stored by every store, and half a character by none; `__proto__` would become a prototype when copied. */
function refuseBroken(value: unknown, what: string): void {
  if (typeof value === 'string') {
    if (value.includes('\0') || !value.isWellFormed()) {
      throw jsonProblem(
        `The ${what} has a text with a NUL or with half of a surrogate pair. Leave these characters out.`,
      );
    }
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, inner] of Object.entries(value)) {
      if (key === '__proto__')
        throw jsonProblem(`The ${what} has a field "__proto__", which no request has. Leave it out.`);
      refuseBroken(key, what);
      refuseBroken(inner, what);
    }
  }
}

function jsonProblem(detail: string, field?: string): HttpProblem {
  return new HttpProblem({
    status: 400,
    code: field === undefined ? 'malformed-json' : 'duplicate-field',
    detail,
    field,
  });
}

/** The same value is the same text, whatever the order of its fields. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, sortFields) ?? '';
}

function sortFields(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}
