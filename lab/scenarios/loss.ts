// The designated host is lost without warning, under load from instances on the hosts that stay, and comes back; several times. How
// long nothing leaves is measured, beside OVN in the same lab where it is installed, and how long it takes until the standby is
// designated.
import { checkOvnRequirements } from '../requirements.ts';
import { runLoad } from '../traffic/load.ts';
import type { TrafficResults } from '../traffic/results.ts';
import { LOAD_MS, usualFlows } from '../traffic/usual-load.ts';
import { runTrial, type TrialOutcome, type PacketTrial } from '../trial.ts';
import { Underlay } from '../underlay/underlay.ts';
import { LabFleet, USUAL } from './fleet.ts';
import { BfdMonitor } from './bfd-monitor.ts';
import { Ovn } from './ovn.ts';
import type { LabScenario, ScenarioRun } from './scenario.ts';

const HOSTS = 3;
const SERVICE = 'nat:edge';
/** From the moment that a majority misses it. */
const DESIGNATED_WITHIN_MS = 400;
/** Of each, in one run: which of two is sooner once is chance, so it is the middle ones that are compared. */
const LOSSES = 5;
/** Both wait for the same heartbeats, a tenth of a second apart. An allowance for chance, set by hand. */
const CHANCE_MS = 25;
/** Connections that are cut would be counted as well; this is about how long no packet passes. */
const LOAD = { ...USUAL, tcp: false, beginning: false };

type What = 'switch' | 'host';

const PARTS = { switch: ['ovs-vswitchd'], host: ['ovs-vswitchd', 'agent'] } as const;

interface Loss {
  /** After the kill. */
  readonly noticedMs: number;
  /** After it was noticed. */
  readonly designatedMs: number;
}

/** Kills the designated host; answers when the standby has its work. */
async function lose(fleet: LabFleet, what: What): Promise<Loss> {
  const lost = await fleet.designated(SERVICE);
  const others = fleet.underlay.hosts.filter(({ names }) => names.number !== lost);
  const monitor = await BfdMonitor.start(others, `h${lost}`);
  try {
    const killedMs = Date.now();
    await Promise.all(PARTS[what].map((part) => fleet.muster.kill({ host: lost, part })));
    const sinceMs = await fleet.until('no other host is designated', async () => {
      const { designated } = await fleet.service(SERVICE);
      return designated !== undefined && designated.host !== `h${lost}` ? designated.sinceMs : undefined;
    });
    const noticed = monitor.lastDownMs();
    return { noticedMs: noticed - killedMs, designatedMs: sinceMs - noticed };
  } finally {
    await monitor.close();
  }
}

/** Something that can be lost again and again. */
interface Losable {
  /** The load from those who stay. */
  readonly load: () => Promise<PacketTrial['load']>;
  readonly lose: () => Promise<void>;
  /** Resolves when all is as it was before the loss. */
  readonly mend: () => Promise<void>;
}

/** Whatever it lost: the figures are what is requested. */
const ANYTHING = (): readonly string[] => [];

type Lost = Exclude<TrialOutcome, { readonly kind: 'machine-too-busy' }>;
type TooBusy = Extract<TrialOutcome, { readonly kind: 'machine-too-busy' }>;

async function losses(it: Losable): Promise<readonly Lost[] | TooBusy> {
  const outcomes: Lost[] = [];
  while (outcomes.length < LOSSES) {
    if (outcomes.length > 0) await it.mend();
    const outcome = await runTrial({ load: await it.load(), event: it.lose, accept: ANYTHING });
    if (outcome.kind === 'machine-too-busy') return outcome;
    outcomes.push(outcome);
  }
  return outcomes;
}

async function lossesAtOvn(what: What, { say, signal }: ScenarioRun): Promise<readonly Lost[] | TooBusy | undefined> {
  const reason = await checkOvnRequirements();
  if (reason !== undefined) {
    say(`ovn: skipped. ${reason}`);
    return undefined;
  }
  const underlay = await Underlay.start({ hosts: HOSTS, say, signal });
  try {
    const ovn = await Ovn.start(underlay);
    const { server, sources } = await ovn.endpoints(LOAD.port);
    const flows = usualFlows(sources.length, LOAD);
    const ends = sources.map((endpoint, nth) => ({ endpoint, flows: flows[nth] ?? [] }));
    const load = (event?: () => Promise<void>): Promise<TrafficResults> =>
      runLoad({ server, sources: ends, durationMs: LOAD_MS, eventAfterMs: 1500, tailMs: 2000 }, event);
    const outcomes = await losses({
      load: () => Promise.resolve(load),
      lose: () => ovn.lose(what),
      mend: () => ovn.mend(what),
    });
    await ovn.close();
    return outcomes;
  } finally {
    await underlay.close();
  }
}

interface OwnLosses {
  readonly outcomes: readonly Lost[] | TooBusy;
  readonly noted: readonly Loss[];
}

async function lossesAtMuster(what: What, { say, signal }: ScenarioRun): Promise<OwnLosses> {
  const fleet = await LabFleet.start(HOSTS, say, signal);
  const noted: Loss[] = [];
  let lost = 0;
  try {
    const outcomes = await losses({
      load: async () => {
        lost = await fleet.designated(SERVICE);
        await untilRedundant(fleet);
        const staying = fleet.instances.filter(({ host }) => host !== lost);
        return fleet.load(LOAD, staying, []);
      },
      lose: async () => void noted.push(await lose(fleet, what)),
      mend: async () => {
        for (const part of PARTS[what]) await fleet.muster.start({ host: lost, part });
        await fleet.muster.untilUp(lost);
      },
    });
    return { outcomes, noted };
  } finally {
    await fleet.close();
  }
}

/** A standby is there, and all peers have BFD sessions. */
async function untilRedundant(fleet: LabFleet): Promise<void> {
  await fleet.until('there is no standby', async () => (await fleet.service(SERVICE)).standby);
  await fleet.untilBfdUp();
  const ready = await fleet.waitForConvergence();
  if (ready.length > 0) throw new Error(ready.join('; '));
}

const gapMsOf = ({ verdict }: Lost): number => verdict.longestGapMs.forward;

/** One loss says little: both notice it between two and three heartbeats after the last one that came. */
function medianGapMs(lost: readonly Lost[]): number {
  return gapsMs(lost)[lost.length >> 1] ?? NaN;
}

function gapsMs(lost: readonly Lost[]): number[] {
  return lost.map(gapMsOf).sort((one, other) => one - other);
}

function describeGaps(lost: readonly Lost[]): string {
  return `${medianGapMs(lost)} ms (${gapsMs(lost).join(', ')})`;
}

async function runLoss(what: What, how: ScenarioRun): Promise<TrialOutcome> {
  const theirs = await lossesAtOvn(what, how);
  if (theirs !== undefined && 'kind' in theirs) return theirs;
  const { outcomes: own, noted } = await lossesAtMuster(what, how);
  if ('kind' in own) return own;
  const designatedMs = Math.max(...noted.map((loss) => loss.designatedMs));
  const figures = [
    `nothing left for ${describeGaps(own)}`,
    theirs === undefined ? 'OVN was not measured' : `with OVN for ${describeGaps(theirs)}`,
    `noticed by all that listen after ${noted.map(({ noticedMs }) => noticedMs).join(', ')} ms`,
    `the standby designated at most ${designatedMs} ms later`,
  ];
  how.say(figures.join(', '));
  const problems = [
    ...(theirs !== undefined && medianGapMs(own) > medianGapMs(theirs) + CHANCE_MS ? ['slower than OVN'] : []),
    ...(designatedMs > DESIGNATED_WITHIN_MS ? ['designated too late'] : []),
  ];
  const verdict = own.reduce((worst, one) => (gapMsOf(one) > gapMsOf(worst) ? one : worst)).verdict;
  return problems.length === 0 ? { kind: 'passed', verdict, figures } : { kind: 'failed', verdict, problems, figures };
}

export const lossOfSwitch: LabScenario = {
  name: 'loss-of-the-designated-host',
  about:
    'the switch of the host that translates is killed: how long nothing leaves, beside OVN, and until the standby has it',
  run: (how) => runLoss('switch', how),
};

export const lossOfHost: LabScenario = {
  name: 'loss-of-the-whole-designated-host',
  about: 'the same, with its agent killed too',
  run: (how) => runLoss('host', how),
};
