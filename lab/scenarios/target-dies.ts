// The host that a translation was switched to dies before the old one has cleared what it has: connections continue at the old host, also those
// of instances that only receive, from the same address and port outside.
import { runTrial, type TrialOutcome } from '../trial.ts';
import { BfdMonitor } from './bfd-monitor.ts';
import { LabFleet, USUAL } from './fleet.ts';
import type { LabScenario, ScenarioRun } from './scenario.ts';
import { assessTargetLoss, type Ends, type TargetLoss } from './target-loss-assessment.ts';

const HOSTS = 3;
const SERVICE = 'nat:edge';
/** What begins after the switch is known to the new host alone, and ends with it. */
const LOAD = { ...USUAL, beginning: false };
/** Long enough to find the handover in it. */
const DRAIN_MS = 5000;

type Phase = 'retiring' | 'draining';
type Why = 'host-leaving' | 'asked-for';

interface Trouble {
  readonly phase: Phase;
  readonly why: Why;
}

/** Above that of all others. */
const PREFERRED = 100;

/** Because its host leaves, or on request. Instances stay where they are. */
async function beginHandover(fleet: LabFleet, { from, to }: Ends, why: Why): Promise<void> {
  const { client } = fleet.muster;
  if (why === 'asked-for') await client.post(`/services/${encodeURIComponent(SERVICE)}/move`, { host: `h${to}` });
  else {
    await client.patch(`/hosts/h${to}`, { baseWeight: PREFERRED });
    await client.post('/scale-in/start', { hosts: [`h${from}`], drain: false });
  }
}

/** Hands the service over, and kills its new host with its agent in this phase. */
async function loseTarget(fleet: LabFleet, { from, to }: Ends, { phase, why }: Trouble): Promise<TargetLoss> {
  const others = fleet.underlay.hosts.filter(({ names }) => names.number !== to);
  const monitor = await BfdMonitor.start(others, `h${to}`);
  try {
    let killedMs = NaN;
    const kill = async (): Promise<void> => {
      killedMs = Date.now();
      await Promise.all((['ovs-vswitchd', 'agent'] as const).map((part) => fleet.muster.kill({ host: to, part })));
    };
    await beginHandover(fleet, { from, to }, why);
    if (phase === 'retiring') await killWhileRetiring(fleet, { from, to }, kill);
    else {
      await untilPhase(fleet, phase);
      await kill();
    }
    const designated = await fleet.until('no other host is designated', async () => {
      const { designated: now } = await fleet.service(SERVICE);
      return now === undefined || now.host === `h${to}` ? undefined : Number(now.host.slice(1));
    });
    return { noticedMs: monitor.lastDownMs() - killedMs, designated };
  } finally {
    await monitor.close();
  }
}

/** The phase is short. The old host is held up in it, and a third one before that, so that there is time to hold up the old one. */
async function killWhileRetiring(fleet: LabFleet, { from, to }: Ends, kill: () => Promise<void>): Promise<void> {
  const third = fleet.underlay.hosts.map(({ names }) => names.number).find((one) => one !== from && one !== to) ?? from;
  const [isOldHeld, oldMayGoOn] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
  let oldGoesOn = Promise.resolve();
  await fleet.muster.pauseAgentDuring(third, async () => {
    await untilPhase(fleet, 'switched');
    oldGoesOn = fleet.muster.pauseAgentDuring(from, async () => {
      isOldHeld.resolve(undefined);
      await oldMayGoOn.promise;
    });
    await isOldHeld.promise;
  });
  try {
    await untilPhase(fleet, 'retiring');
    await kill();
  } finally {
    oldMayGoOn.resolve(undefined);
    await oldGoesOn;
  }
}

async function untilPhase(fleet: LabFleet, phase: Phase | 'switched'): Promise<void> {
  await fleet.until(`${SERVICE} is not ${phase}`, async () =>
    (await fleet.service(SERVICE)).handover?.phase === phase ? true : undefined,
  );
}

async function endsOf(fleet: LabFleet): Promise<Ends> {
  const from = await fleet.designated(SERVICE);
  return { from, to: (from % HOSTS) + 1 };
}

async function runLoss(fleet: LabFleet, ends: Ends, trouble: Trouble): Promise<TrialOutcome> {
  const staying = fleet.instances.filter(({ host }) => host !== ends.to);
  await fleet.untilBfdUp();
  let loss: TargetLoss | undefined;
  const outcome = await runTrial({
    load: await fleet.load(LOAD, staying, []),
    event: async () => void (loss = await loseTarget(fleet, ends, trouble)),
    accept: (verdict) => assessTargetLoss(verdict, ends, loss),
  });
  if (outcome.kind === 'machine-too-busy' || loss === undefined) return outcome;
  const { push, forward } = outcome.verdict.longestGapMs;
  const { lost, sent } = outcome.verdict.push;
  const figures = [
    `${trouble.phase} (${trouble.why}): noticed after ${loss.noticedMs} ms, what is only received stood still for ${push} ms (${lost} of ${sent} lost), what is sent for ${forward} ms`,
  ];
  if (outcome.kind === 'failed') return { ...outcome, figures };
  const hosts = fleet.underlay.hosts.filter(({ names }) => names.number !== ends.to);
  const problems = await fleet.waitForConvergence(hosts);
  return problems.length === 0
    ? { ...outcome, figures }
    : { kind: 'failed', verdict: outcome.verdict, problems, figures };
}

/** Everything is as it was. */
async function mend(fleet: LabFleet, { from, to: host }: Ends): Promise<void> {
  for (const part of ['ovs-vswitchd', 'agent'] as const) await fleet.muster.start({ host, part });
  await fleet.muster.untilUp(host);
  await fleet.muster.muster('scale-in', 'recover', `h${from}`, '--wait', '--timeout', '60s');
  await fleet.muster.client.patch(`/hosts/h${host}`, { baseWeight: 0 });
}

export async function loseTargetAfterSwitch(fleet: LabFleet): Promise<TrialOutcome> {
  await fleet.setElection({ handoverDrainMs: DRAIN_MS });
  const ends = await endsOf(fleet);
  const first = await runLoss(fleet, ends, { phase: 'draining', why: 'host-leaving' });
  if (first.kind !== 'passed') return first;
  await mend(fleet, ends);
  const second = await runLoss(fleet, await endsOf(fleet), { phase: 'retiring', why: 'asked-for' });
  return { ...second, figures: [...(first.figures ?? []), ...(second.figures ?? [])] };
}

export const targetDies: LabScenario = {
  name: 'target-dies-after-the-switch',
  about: 'the host that a translation was just switched to is killed: the old one goes on with the connections',
  async run({ say, signal }: ScenarioRun) {
    const fleet = await LabFleet.start(HOSTS, say, signal);
    try {
      return await loseTargetAfterSwitch(fleet);
    } finally {
      await fleet.close();
    }
  },
};
