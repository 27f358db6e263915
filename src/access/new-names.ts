// Names are ids of the whole fleet. A caller that is bound to a site learns of a name that is taken in another site only that it
// is not available: not by what, not where, not in which state. Every route that creates something by name checks here.
import type { FleetReader, Id, Refusal } from '../fleet/index.ts';
import { isBound, type Caller } from './role.ts';
import { isVisibleTo, type Representation } from './representation.ts';

/** The names that a request gives to what it creates. */
export interface NewNames {
  readonly representation: Representation<string, never>;
  readonly names: readonly string[];
  /** Where the nth of them is in the request, as a JSON pointer. */
  readonly fieldOf: (at: number) => string;
}

export const NAME_UNAVAILABLE = 'name-unavailable';
/** The same of an address that one host of the whole fleet may have. */
export const ADDRESS_UNAVAILABLE = 'tunnel-address-unavailable';

/** Undefined for a caller that sees all sites: its refusal names the conflicting resource. */
export function denyForeignNames(fleet: FleetReader, caller: Caller, wanted: NewNames): Refusal | undefined {
  if (!isBound(caller)) return undefined;
  const representation = wanted.representation as unknown as Representation;
  const isForeign = (name: string): boolean => {
    const stored = fleet.get(representation.kind, name as Id<string>);
    return stored !== undefined && !isVisibleTo(caller, representation, { stored, fleet });
  };
  const at = wanted.names.findIndex(isForeign);
  if (at === -1) return undefined;
  const message = 'This name is not available. Choose another one.';
  return { kind: 'conflict', code: NAME_UNAVAILABLE, message, field: wanted.fieldOf(at) };
}
