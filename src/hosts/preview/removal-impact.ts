// What the leaving of hosts touches on the switches of those that stay. Rooms above know of tunnels, flows and groups; a preview
// knows this interface.
import { Type, type Static } from 'typebox';
import type { FleetReader } from '../../fleet/index.ts';

export const REMOVAL_IMPACT_SCHEMA = Type.Object(
  {
    tunnels: Type.Integer({ description: 'tunnels to it that go' }),
    flows: Type.Integer({ description: 'flows that go with them or are turned to another host' }),
    groups: Type.Integer({
      description:
        'groups that send to it for a service, or would were the host lost that does it, and are turned to another',
    }),
    services: Type.Integer({ description: 'services that these are of' }),
    byPeer: Type.Array(
      Type.Object({
        host: Type.String(),
        flows: Type.Integer({ description: 'that go with its tunnel or are turned' }),
        services: Type.Array(Type.String(), { description: 'whose groups are turned' }),
      }),
      { description: 'those with groups first' },
    ),
  },
  { description: 'what its leaving touches on hosts that stay' },
);

export type RemovalImpact = Static<typeof REMOVAL_IMPACT_SCHEMA> & { readonly host: string };

/** For each of these, were they to leave together; at most `limit` peers are named in all. Costs what they have, not the fleet. */
export type RemovalImpactComputation = (
  fleet: FleetReader,
  leavers: readonly string[],
  limit: number,
) => Generator<undefined, readonly RemovalImpact[]>;
