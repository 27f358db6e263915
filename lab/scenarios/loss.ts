// The designated host is lost without warning, under load from instances on the hosts that stay. How long nothing leaves is measured,
// beside OVN in the same lab where it is installed, and how long it takes until the standby is designated.
import { whyNoOvn } from '../needs.ts';
import { runLoad } from '../traffic/load.ts';
import type { TrafficResults } from '../traffic/results.ts';
import { LOAD_MS, usualFlows } from '../traffic/usual-load.ts';
import { tryOut, type Outcome } from '../trial.ts';
import { Underlay } from '../underlay/underlay.ts';
import { Fleet, USUAL } from './fleet.ts';
import { Hearing } from './hearing.ts';
import { Ovn } from './ovn.ts';
import type { Scenario, ScenarioRun } from './scenario.ts';

const HOSTS = 3;
const SERVICE = 'nat:edge';
/** From the moment that a majority misses it. */
const DESIGNATED_WITHIN_MS = 400;
/** Both notice a loss between two and three heartbeats after the last one: which of them is sooner in one run is chance. */
const HEARTBEAT_MS = 100;
/** Connections that are cut would be counted as well; this is about how long nothing goes on. */
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
async function lose(fleet: Fleet, what: What): Promise<Loss> {
  const lost = await fleet.designated(SERVICE);
  const others = fleet.underlay.hosts.filter(({ names }) => names.number !== lost);
  const hearing = await Hearing.start(others, `h${lost}`);
  try {
    const killedMs = Date.now();
    await Promise.all(PARTS[what].map((part) => fleet.muster.kill({ host: lost, part })));
    const sinceMs = await fleet.until('nobody else is designated', async () => {
      const { designated } = await fleet.service(SERVICE);
      return designated !== undefined && designated.host !== `h${lost}` ? designated.sinceMs : undefined;
    });
    const noticed = hearing.missedMs();
    return { noticedMs: noticed - killedMs, designatedMs: sinceMs - noticed };
  } finally {
    await hearing.close();
  }
}

/** How long nothing left, and what was lost. */
interface Gap {
  readonly gapMs: number;
  readonly lost: number;
}

function gapOf(outcome: Outcome): Gap | undefined {
  if (outcome.kind === 'machine-too-busy') return undefined;
  const { echo, longestGapMs } = outcome.verdict;
  return { gapMs: longestGapMs.forward, lost: echo.forwardLost };
}

/** Whatever it lost: the figures are what is asked for. */
const ANYTHING = (): readonly string[] => [];

async function lossAtOvn(what: What, { say, signal }: ScenarioRun): Promise<Outcome | undefined> {
  const reason = await whyNoOvn();
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
    const outcome = await tryOut({ load, event: () => ovn.lose(what), accept: ANYTHING });
    await ovn.close();
    return outcome;
  } finally {
    await underlay.close();
  }
}

async function lossAtMuster(what: What, { say, signal }: ScenarioRun): Promise<{ outcome: Outcome; loss?: Loss }> {
  const fleet = await Fleet.start(HOSTS, say, signal);
  try {
    const [designated, ready] = [await fleet.designated(SERVICE), await fleet.settled()];
    if (ready.length > 0) throw new Error(ready.join('; '));
    const staying = fleet.instances.filter(({ host }) => host !== designated);
    let loss: Loss | undefined;
    const event = async (): Promise<void> => {
      loss = await lose(fleet, what);
    };
    const outcome = await tryOut({ load: await fleet.load(LOAD, staying, []), event, accept: ANYTHING });
    return { outcome, ...(loss !== undefined && { loss }) };
  } finally {
    await fleet.close();
  }
}

async function measured(what: What, how: ScenarioRun): Promise<Outcome> {
  const ovn = await lossAtOvn(what, how);
  if (ovn?.kind === 'machine-too-busy') return ovn;
  const { outcome, loss } = await lossAtMuster(what, how);
  const [own, theirs] = [gapOf(outcome), ovn === undefined ? undefined : gapOf(ovn)];
  if (outcome.kind === 'machine-too-busy' || own === undefined || loss === undefined) return outcome;
  const figures = [
    `nothing left for ${own.gapMs} ms (${own.lost} packets lost)`,
    theirs === undefined ? 'OVN was not measured' : `with OVN for ${theirs.gapMs} ms (${theirs.lost} lost)`,
    `noticed by all that listen after ${loss.noticedMs} ms`,
    `the standby designated ${loss.designatedMs} ms later`,
  ];
  how.say(figures.join(', '));
  const problems = [
    ...(theirs !== undefined && own.gapMs > theirs.gapMs + HEARTBEAT_MS ? ['slower than OVN'] : []),
    ...(loss.designatedMs > DESIGNATED_WITHIN_MS ? ['designated too late'] : []),
  ];
  if (problems.length === 0) return { kind: 'passed', verdict: outcome.verdict, figures };
  return { kind: 'failed', verdict: outcome.verdict, problems, figures };
}

export const lossOfSwitch: Scenario = {
  name: 'loss-of-the-designated-host',
  about:
    'the switch of the host that translates is killed: how long nothing leaves, beside OVN, and until the standby has it',
  run: (how) => measured('switch', how),
};

export const lossOfHost: Scenario = {
  name: 'loss-of-the-whole-designated-host',
  about: 'the same, with its agent killed too',
  run: (how) => measured('host', how),
};
