// The refusals of this module, built from the code, the field and the request.
import type { Refusal } from '../fleet/index.ts';

export function isRefusal(value: object): value is Refusal {
  return 'code' in value && 'message' in value;
}

interface RefusalDetails {
  readonly field?: string | undefined;
  readonly facts?: Readonly<Record<string, unknown>>;
}

function composeRefusal(
  kind: Refusal['kind'],
  code: string,
  message: string,
  { field, facts }: RefusalDetails,
): Refusal {
  return { kind, code, message, ...(field !== undefined && { field }), ...(facts !== undefined && { facts }) };
}

export function invalid(code: string, message: string, more: RefusalDetails = {}): Refusal {
  return composeRefusal('invalid', code, message, more);
}

export function conflict(code: string, message: string, more: RefusalDetails = {}): Refusal {
  return composeRefusal('conflict', code, message, more);
}

export function forbid(code: string, message: string, more: RefusalDetails = {}): Refusal {
  return composeRefusal('forbidden', code, message, more);
}

/** A missing resource: not found when it is the resource itself, an invalid value when a field names it. */
export function unknownResource(what: string, id: string, field?: string): Refusal {
  const plural = what.endsWith('s') ? `${what}es` : `${what}s`;
  const message = `There is no ${kindLabel(what)} "${id}". List them with "muster ${plural} list".`;
  const kind = field === undefined ? 'not-found' : 'invalid';
  return composeRefusal(kind, `unknown-${what}`, message, { field, facts: { [what]: id } });
}

/** The label of a kind in sentences. */
export function kindLabel(kind: string): string {
  return kind.replaceAll('-', ' ');
}
