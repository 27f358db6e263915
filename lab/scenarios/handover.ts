// A designation moves by plan under load: nothing is lost in either direction, nothing that is only received, and no connection's address
// and port outside becomes another.
import { runTrial, type TrialOutcome } from '../trial.ts';
import { LabFleet, USUAL } from './fleet.ts';
import type { LabScenario, ScenarioRun } from './scenario.ts';

const HOSTS = 3;
const SERVICE = 'nat:edge';

interface HandoverOptions {
  readonly sourcePort?: number;
  /** To a host that joined a moment ago, and has never sent a packet. */
  readonly newcomer?: boolean;
  /** So often in one load, from host to host; once if it is not given. */
  readonly times?: number;
  /** The third host still sends to the old one for a while after the others have switched. */
  readonly late?: boolean;
}

async function runHandover(
  { say, signal }: ScenarioRun,
  { sourcePort, newcomer, late, times = 1 }: HandoverOptions = {},
): Promise<TrialOutcome> {
  const fleet = await LabFleet.start(HOSTS, say, signal);
  try {
    const from = await fleet.designated(SERVICE);
    const load = await fleet.load(sourcePort === undefined ? USUAL : { ...USUAL, sourcePort });
    let to = (from % HOSTS) + 1;
    const outcome = await runTrial({
      load: async (event) => {
        if (event !== undefined && newcomer === true) to = await joinNewcomer(fleet);
        return load(event);
      },
      event: async () => {
        for (let time = 0; time < times; time += 1, to = (to % HOSTS) + 1)
          await (late === true ? fleet.moveWithOneLate(SERVICE, to) : fleet.move(SERVICE, to));
      },
    });
    return outcome.kind === 'passed' ? await checkSwitches(fleet, outcome) : outcome;
  } finally {
    await fleet.close();
  }
}

async function joinNewcomer(fleet: LabFleet): Promise<number> {
  const number = HOSTS + 1;
  await fleet.muster.join(await fleet.underlay.addHosts(1));
  await fleet.build(`vm${number}`, number);
  return number;
}

/** Packets do not show what is left behind: the switches do. */
async function checkSwitches(
  fleet: LabFleet,
  outcome: Extract<TrialOutcome, { kind: 'passed' }>,
): Promise<TrialOutcome> {
  const problems = await fleet.waitForConvergence();
  return problems.length === 0 ? outcome : { kind: 'failed', verdict: outcome.verdict, problems };
}

export const handover: LabScenario = {
  name: 'handover',
  about: 'the translation of a router is handed from one host to another by plan',
  run: (how) => runHandover(how),
};

export const handoverOnePort: LabScenario = {
  name: 'handover-one-source-port',
  about: 'the same, with all instances sending from one port: all but one are seen from another port outside',
  run: (how) => runHandover(how, { sourcePort: 5000 }),
};

export const handoverWithLateHost: LabScenario = {
  name: 'handover-with-a-late-host',
  about: 'the same from one port, and one host goes on sending to the old one for a second and a half',
  run: (how) => runHandover(how, { sourcePort: 5000, late: true }),
};

const TIMES = 10;

export const handoverRepeated: LabScenario = {
  name: 'handover-repeated',
  about: `the same, ${TIMES} times in one load, from host to host`,
  run: (how) => runHandover(how, { times: TIMES }),
};

export const handoverToNewcomer: LabScenario = {
  name: 'handover-to-a-newcomer',
  about: 'the same, to a host that joined a moment ago and knows no neighbour in the underlay yet',
  run: (how) => runHandover(how, { newcomer: true }),
};
