// Drains, moves, handovers and agents with one bug that shows only when several things come together: see the incidents.
import { AGENT_GATEWAY } from '../../src/agent/module.ts';
import { ViewsDriver } from '../../src/agent/runtime.ts';
import { bfdDetectorOf } from '../../src/election/index.ts';
import type { NetworkOrder } from '../../src/network/index.ts';
import { sourceStaysConnected } from '../checkers/bound-before-migration.ts';
import { settledBeforeDrained } from '../checkers/drained.ts';
import { waitsForOwnServiceOnly } from '../checkers/readiness.ts';
import { SCALE_IN } from '../scenarios.ts';
import { mapFleet, hideFromIndex } from './altered-kind.ts';
import { withNetworkDriver } from './instances.ts';
import type { Mutant } from './mutant.ts';
import { withDriver, withKinds } from './planting.ts';

export const unconnectedTakenForMoved: Mutant = {
  name: 'unconnected-taken-for-moved',
  bug: 'a drain counts as moved what is not connected where it arrived',
  scenario: SCALE_IN,
  likely: 5,
  caughtBy: [settledBeforeDrained.name],
  plant: (parts) =>
    withKinds(parts, ['scale-in'], (kind) =>
      mapFleet(kind, (fleet) => hideFromIndex(fleet, 'instances-by-vacated-host', () => false)),
    ),
};

export const targetBoundInPlaceOfSource = withNetworkDriver(
  {
    name: 'target-bound-in-place-of-source',
    bug: 'a move binds its target while the instance still runs at the source, which loses its connection',
    scenario: SCALE_IN,
    likely: 5,
    caughtBy: [sourceStaysConnected.name],
  },
  (driver) => ({
    carryOut: (action, fence) => {
      const order = action.args as unknown as NetworkOrder;
      const args = order.op === 'add-binding' ? { ...action.args, op: 'bind' } : action.args;
      return driver.carryOut({ ...action, args }, fence);
    },
  }),
);

export const readinessPerHost: Mutant = {
  name: 'readiness-per-host',
  bug: 'a host that cannot prepare one service counts as not ready for any',
  scenario: SCALE_IN,
  likely: 9,
  caughtBy: [waitsForOwnServiceOnly.name],
  plant: (parts) =>
    withDriver(parts, 'views', (_driver, runtime) => {
      const { journal, clock } = runtime.environment;
      const gateway = runtime.get(AGENT_GATEWAY);
      return new ViewsDriver({
        journal,
        clock,
        isBfdDownByMajority: bfdDetectorOf(journal.fleet, gateway.reports).isBfdDownByMajority,
        gateway: {
          hasConverged: (host, revision, serviceVersion) => gateway.hasConverged(host, revision, serviceVersion),
          reports: {
            unreadinessOf: (host) => gateway.reports.get(host)?.unready?.values().next().value,
            onConvergence: (listener) => gateway.reports.onConvergence(listener),
          },
        },
      });
    }),
};
