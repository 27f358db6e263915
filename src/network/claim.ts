// A claim: the resources of one host and the addresses that an instance takes, in one document, so that they are taken, replaced or released as
// a whole. A move's second claim is a document of its own and counts as used.
import { Type, type Static } from 'typebox';
import { schemaKind, type Id, type Index } from '../fleet/index.ts';

const CLOSED = { additionalProperties: false };

const CLAIM_SCHEMA = Type.Object(
  {
    instance: Type.String(),
    /** `home`: where the instance is. `move`: its target. */
    role: Type.Enum(['home', 'move']),
    host: Type.String(),
    vcpus: Type.Integer({ minimum: 0 }),
    memoryMiB: Type.Integer({ minimum: 0 }),
    diskGiB: Type.Integer({ minimum: 0 }),
    /** Further resource classes by name, bandwidth among them. */
    resources: Type.Optional(Type.Record(Type.String(), Type.Integer({ minimum: 0 }))),
    /** The server group it counts for. */
    group: Type.Optional(Type.String()),
    /** Addresses that are claimed and not yet held by a port, per pool and version. */
    addresses: Type.Array(
      Type.Object(
        { pool: Type.String(), version: Type.Union([Type.Literal(4), Type.Literal(6)]), count: Type.Integer() },
        CLOSED,
      ),
    ),
    sinceMs: Type.Integer(),
  },
  CLOSED,
);

export type Claim = Static<typeof CLAIM_SCHEMA>;
export type ClaimId = Id<'claim'>;
export const CLAIM = schemaKind('claim', CLAIM_SCHEMA);

export const CLAIMS_BY_HOST: Index<'claim', Claim> = {
  name: 'claims-by-host',
  kind: CLAIM,
  keysOf: (doc) => [doc.host],
};

/** Instance names contain no colon: the second claim of one is never mistaken for the claim of another. */
export function claimId(instance: string, role: Claim['role']): ClaimId {
  return (role === 'home' ? instance : `${instance}:move`) as ClaimId;
}
