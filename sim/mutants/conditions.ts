// Control planes that ignore whether an uncontrollable switch still forwards, or which stray interfaces a host has.
import type { AgentLink } from '../../src/agent/node/ports.ts';
import { LIVENESS_CONTROLLER } from '../../src/hosts/index.ts';
import { BFD_REPORTS, ELECTION_CONTROLLER, bfdDetectorOf } from '../../src/election/index.ts';
import { ElectionController } from '../../src/election/runtime.ts';
import { notFromForwardingSwitch, notToUncontrolledSwitch } from '../checkers/out-of-control.ts';
import { GRAY_FAILURES, SCALE_IN } from '../scenarios.ts';
import { LEFT_WITH_STRAYS } from '../world/machine-driver.ts';
import type { Mutant } from './mutant.ts';
import { withKinds, withRunningPart } from './planting.ts';
import { AT_REST } from '../seed-properties.ts';

export const controlLossTakenForForwardingLoss: Mutant = {
  name: 'control-loss-taken-for-forwarding-loss',
  bug: 'the services of a host whose switch does not obey are given to others although it forwards on',
  scenario: SCALE_IN,
  likely: 29,
  caughtBy: [notFromForwardingSwitch.name],
  plant: (parts) =>
    withRunningPart(parts, ELECTION_CONTROLLER, (runtime) => {
      const { environment } = runtime;
      const reports = runtime.get(BFD_REPORTS);
      const liveness = runtime.get(LIVENESS_CONTROLLER);
      const maybePartitioned = (site: string): boolean => liveness.maybePartitioned(site);
      const detector = {
        ...bfdDetectorOf(environment.journal.fleet, reports),
        isBfdDownUnanimously: () => true,
        maybePartitioned,
      };
      const election = new ElectionController({ ...environment, ...detector });
      reports.onBfdChange((host) => election.wakeForHost(host));
      return election;
    }),
};

/** Heartbeats without the conditions that the agent found on its machine. */
function saysNothing(link: AgentLink): AgentLink {
  return {
    isAuthenticated: (server) => link.isAuthenticated(server),
    join: (to, join) => link.join(to, join),
    heartbeat: (to, { conditions, ...beat }) => link.heartbeat(to, { ...beat, ...(conditions && { conditions: [] }) }),
    view: (to, ask, signal) => link.view(to, ask, signal),
    observe: (to, observations) => link.observe(to, observations),
    deposit: (to, deposit) => link.deposit(to, deposit),
    collect: (to, ask, signal) => link.collect(to, ask, signal),
  };
}

export const switchSaidToObey: Mutant = {
  name: 'switch-said-to-obey',
  bug: 'an agent says nothing of a switch that does not obey, and its host is taken for a healthy one',
  scenario: GRAY_FAILURES,
  likely: 4,
  // What it does not say of its instances is missed as well.
  caughtBy: [notToUncontrolledSwitch.name, AT_REST],
  plant: (parts) => ({
    ...parts,
    agent: (ports, options) => parts.agent({ ...ports, link: saysNothing(ports.link) }, options),
  }),
};

export const leavesWithoutStrayCheck: Mutant = {
  name: 'leaves-without-stray-check',
  bug: 'a host that is ordered to leave goes whatever else is on its bridge',
  scenario: SCALE_IN,
  likely: 32,
  caughtBy: [LEFT_WITH_STRAYS],
  plant: (parts) =>
    withKinds(parts, ['scale-in-end'], (kind) => ({
      ...kind,
      task: (item, { fleet }) => {
        const task = kind.task?.(item, { fleet });
        return task && { ...task, args: { ...task.args, force: true } };
      },
    })),
};
