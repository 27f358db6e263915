// Removals that forget something: peers that went to another zone or have an older agent, what was on the host, and its own switch.
import { possibleTunnelPeers } from '../../src/dataplane/index.ts';
import {
  evacuatorsOf,
  CURRENT_SERVICE_VERSION,
  findHost,
  HOST,
  scaleInEndKind,
  transportZoneOf,
} from '../../src/hosts/index.ts';
import { PROGRAM } from '../../src/main/modules.ts';
import type { OperationKind } from '../../src/operations/index.ts';
import { removedWithTenants } from '../checkers/leaving.ts';
import { removedEverywhere } from '../checkers/switches.ts';
import { SCALE_IN } from '../scenarios.ts';
import { AT_REST } from '../seed-properties.ts';
import { mapFleet, mapDocuments } from './altered-kind.ts';
import type { Mutant } from './mutant.ts';
import { withKinds } from './planting.ts';

const EVACUATORS = evacuatorsOf(PROGRAM);

/** Removals with a changed step. */
function plantEndKind(otherwise: Partial<Parameters<typeof scaleInEndKind>[0]>): Mutant['plant'] {
  const kind = scaleInEndKind({ evacuators: EVACUATORS, peersOf: possibleTunnelPeers, ...otherwise });
  return (parts) => withKinds(parts, [kind.name], () => kind);
}

export const unreachablePeersForgotten: Mutant = {
  name: 'unreachable-peers-forgotten',
  bug: 'peers that cannot confirm a removal get no pending clean-up',
  likely: 8,
  scenario: SCALE_IN,
  caughtBy: [removedEverywhere.name],
  plant: plantEndKind({
    peersOf: (fleet, id) =>
      possibleTunnelPeers(fleet, id).filter((peer) => findHost(fleet, peer)?.doc.connection.state === 'up'),
  }),
};

export const formerZonesForgotten: Mutant = {
  name: 'former-zones-forgotten',
  bug: 'a removal waits only for peers that are in the zone of the host now',
  scenario: SCALE_IN,
  likely: 27,
  caughtBy: [removedEverywhere.name],
  plant: plantEndKind({
    peersOf: (fleet, id) => {
      const zoneOf = (host: string): string => transportZoneOf(findHost(fleet, host)?.doc ?? {});
      return possibleTunnelPeers(fleet, id).filter((peer) => zoneOf(peer) === zoneOf(id));
    },
  }),
};

export const oldAgentsCountedConverged: Mutant = {
  name: 'old-agents-counted-converged',
  bug: 'a peer counts as converged on a removal while its agent leaves its switch as it is',
  likely: 18,
  scenario: SCALE_IN,
  // The `views` driver does not trust such an agent either: whoever waits for its convergence waits for ever.
  caughtBy: [removedEverywhere.name, AT_REST],
  plant: (parts) =>
    withKinds(parts, ['scale-in-end'], (kind) =>
      mapFleet(withoutVersionDemand(kind), (fleet) =>
        mapDocuments(fleet, HOST.name, (doc) => ({ ...doc, serviceVersion: CURRENT_SERVICE_VERSION })),
      ),
    ),
};

/** The waiting operation accepts any service version. */
function withoutVersionDemand(kind: OperationKind): OperationKind {
  return {
    ...kind,
    plan: (...look) =>
      kind.plan(...look).map((next) => {
        if (next.kind !== 'act') return next;
        const { serviceVersion: _, ...args } = next.action.args;
        return { ...next, action: { ...next.action, args } };
      }),
  };
}

export const forceLeavesTenants: Mutant = {
  name: 'force-leaves-tenants',
  bug: 'what lives on a host that is removed by force is said to live there for ever',
  scenario: SCALE_IN,
  likely: 1,
  caughtBy: [removedWithTenants.name, 'never: a removed host has a designation', AT_REST],
  plant: plantEndKind({ evacuators: EVACUATORS.map((one) => ({ ...one, abandon: () => [] })) }),
};

export const leavesUnwiped: Mutant = {
  name: 'leaves-unwiped',
  bug: 'an agent that is ordered to leave says that it has, and leaves its switch as it is',
  scenario: SCALE_IN,
  caughtBy: [AT_REST],
  plant: (parts) => ({
    ...parts,
    agent: (ports, options) => {
      const { driver } = ports;
      const perform: typeof driver.perform = (task, fence) =>
        task.kind === 'leave' ? Promise.resolve({ outcome: 'done' }) : driver.perform(task, fence);
      return parts.agent({ ...ports, driver: { ...driver, perform } }, options);
    },
  }),
};
