// Refusals as this room writes them, and how to tell one from what was asked for.
import type { Refusal } from '../fleet/index.ts';

export function isRefusal(value: object): value is Refusal {
  return 'code' in value && 'message' in value;
}

interface Told {
  readonly field?: string | undefined;
  readonly facts?: Readonly<Record<string, unknown>>;
}

function told(kind: Refusal['kind'], code: string, message: string, { field, facts }: Told): Refusal {
  return { kind, code, message, ...(field !== undefined && { field }), ...(facts !== undefined && { facts }) };
}

export function invalid(code: string, message: string, more: Told = {}): Refusal {
  return told('invalid', code, message, more);
}

export function conflict(code: string, message: string, more: Told = {}): Refusal {
  return told('conflict', code, message, more);
}

export function forbidden(code: string, message: string, more: Told = {}): Refusal {
  return told('forbidden', code, message, more);
}

/** What is not there: not found when it is the resource itself, a wrong value when a field names it. */
export function unknown(what: string, id: string, field?: string): Refusal {
  const plural = what.endsWith('s') ? `${what}es` : `${what}s`;
  const message = `There is no ${spoken(what)} "${id}". List them with "muster ${plural} list".`;
  const kind = field === undefined ? 'not-found' : 'invalid';
  return told(kind, `unknown-${what}`, message, { field, facts: { [what]: id } });
}

/** A kind as people say it. */
export function spoken(kind: string): string {
  return kind.replaceAll('-', ' ');
}
