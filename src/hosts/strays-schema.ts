// The schema of a host's recorded strays: the first of them by name, and how many there are.
import { Type, type Static } from 'typebox';

/** Enough to know where to search; the count covers the rest. */
export const STRAYS_NAMED_MAX = 10;
export const STRAY_LENGTH_MAX = 200;

export const STRAYS_SCHEMA = Type.Object(
  {
    /** Such as `interface/tap0` or `instance/v1`. */
    names: Type.Array(Type.String({ maxLength: STRAY_LENGTH_MAX }), { minItems: 1, maxItems: STRAYS_NAMED_MAX }),
    count: Type.Integer({ minimum: 1 }),
    sinceMs: Type.Integer(),
  },
  { additionalProperties: false },
);
export type Strays = Static<typeof STRAYS_SCHEMA>;
