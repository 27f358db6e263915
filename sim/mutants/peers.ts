// Removals that forget one kind of peer: whoever went to another zone, and whose agent is too old.
import { mayHaveTunnelsTo } from '../../src/dataplane/index.ts';
import { CURRENT_SERVICE_VERSION, findHost, HOST, scaleInEndKind, transportZoneOf } from '../../src/hosts/index.ts';
import { EVACUATORS } from '../../src/main/rooms.ts';
import { removedEverywhere } from '../checkers/switches.ts';
import { SCALE_IN } from '../scenarios.ts';
import { onFleet, showing, withKinds } from './altered-kind.ts';
import type { Mutant } from './mutant.ts';

export const formerZonesForgotten: Mutant = {
  name: 'former-zones-forgotten',
  bug: 'of a host that goes, only those are told who are in its zone now',
  scenario: SCALE_IN,
  caughtBy: [removedEverywhere.name],
  plant: (parts) =>
    withKinds(parts, ['scale-in-end'], () =>
      scaleInEndKind({
        evacuators: EVACUATORS,
        peersOf: (fleet, id) => {
          const zoneOf = (host: string): string => transportZoneOf(findHost(fleet, host)?.doc ?? {});
          return mayHaveTunnelsTo(fleet, id).filter((peer) => zoneOf(peer) === zoneOf(id));
        },
      }),
    ),
};

export const oldAgentsBelieved: Mutant = {
  name: 'old-agents-believed',
  bug: 'a peer counts as told of a removal whose agent leaves its switch as it is',
  scenario: SCALE_IN,
  caughtBy: [removedEverywhere.name],
  plant: (parts) =>
    withKinds(parts, ['scale-in-end'], (kind) =>
      onFleet(kind, (fleet) =>
        showing(fleet, HOST.name, (doc) => ({ ...doc, serviceVersion: CURRENT_SERVICE_VERSION })),
      ),
    ),
};
