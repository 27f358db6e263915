// The impact of leaving hosts on the switches of the hosts that stay. Modules above know tunnels, flows and groups; a preview must know only
// this interface.
import { Type, type Static } from 'typebox';
import type { FleetReader } from '../../fleet/index.ts';

export const REMOVAL_IMPACT_SCHEMA = Type.Object(
  {
    tunnels: Type.Integer({ description: 'tunnels to it that are removed' }),
    flows: Type.Integer({ description: 'flows that are removed with them or redirected to another host' }),
    groups: Type.Integer({
      description: 'service groups that send to it, or would after a failover, and are redirected to another host',
    }),
    services: Type.Integer({ description: 'services of these groups' }),
    byPeer: Type.Array(
      Type.Object({
        host: Type.String(),
        flows: Type.Integer({ description: 'flows that are removed with its tunnel or redirected' }),
        services: Type.Array(Type.String(), { description: 'services whose groups are redirected' }),
      }),
      { description: 'those with groups first' },
    ),
  },
  { description: 'the impact of its removal on the hosts that stay' },
);

export type RemovalImpact = Static<typeof REMOVAL_IMPACT_SCHEMA> & { readonly host: string };

/** For each of these hosts, were they to leave together; names at most `limit` peers in all. Costs O(affected entries), not O(fleet). */
export type RemovalImpactComputation = (
  fleet: FleetReader,
  leavers: readonly string[],
  limit: number,
) => Generator<undefined, readonly RemovalImpact[]>;
