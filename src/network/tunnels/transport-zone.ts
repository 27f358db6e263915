// Transport zones: the hosts of a zone have tunnels with each other, and never with hosts of another zone.
import { Type, type Static } from 'typebox';
import { schemaKind, type Stored } from '../../fleet/index.ts';
import { NAME } from '../../sites/index.ts';

export const TRANSPORT_ZONE_SCHEMA = Type.Object(
  {
    name: NAME,
    /** `full`: every host has tunnels with every other. `needed`: with those that share a network or a router with it. */
    mesh: Type.Enum(['full', 'needed']),
    changedBy: Type.String(),
    changedAtMs: Type.Integer(),
  },
  { additionalProperties: false },
);
export type TransportZone = Static<typeof TRANSPORT_ZONE_SCHEMA>;
export type StoredTransportZone = Stored<'transport-zone', TransportZone>;
export const TRANSPORT_ZONE = schemaKind('transport-zone', TRANSPORT_ZONE_SCHEMA);
