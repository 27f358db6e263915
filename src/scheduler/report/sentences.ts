// The sentences of a report, for the API, the CLI and an instance's history.
import type { ReportStage, ScheduleReport } from '../request.ts';

type StageFacts = NonNullable<ReportStage['facts']>;

const AVAILABILITY_WORDS: Readonly<Record<string, string>> = {
  'forced-down': 'forced down',
  disabled: 'disabled',
  'not-up': 'not up',
  degraded: 'degraded (muster hosts list --degraded)',
  quarantined: 'in quarantine',
  joining: 'still joining',
  leaving: 'leaving',
  recovering: 'recovering',
};

const shortageWords = (what: string, unit: string) => (facts: StageFacts) =>
  `${what} left: ${facts['asked']}${unit} requested, ${facts['most']}${unit} at most`;

/** The phrase for the hosts that a cause excluded. */
const CAUSES: Readonly<Record<string, (facts: StageFacts) => string>> = {
  'host-not-available': ({ standing = '' }) => AVAILABILITY_WORDS[standing] ?? 'not available',
  'host-too-old': ({ needs }) => `with an agent that is too old: service version ${needs} is needed`,
  'host-excluded': (facts) => `excluded${exclusionWords(facts)}`,
  'wrong-site': ({ site }) => `not in site ${site}`,
  'wrong-zone': ({ zone }) => `not in zone ${zone}`,
  'not-in-aggregate': ({ aggregate }) => `not in aggregate ${aggregate}`,
  'trait-missing': ({ trait }) => `without trait ${trait}`,
  'trait-forbidden': ({ trait }) => `with the forbidden trait ${trait}`,
  'vcpus-short': shortageWords('too few vcpus', ''),
  'memory-short': shortageWords('too little memory', ' MiB'),
  'disk-short': shortageWords('too little disk', ' GiB'),
  'resource-short': (facts) => shortageWords(`too little of ${facts['resource']}`, '')(facts),
  'bandwidth-short': ({ network, asked }) => `too little bandwidth for network ${network}: ${asked} kbit/s requested`,
  'affinity-broken': ({ group }) => `without a member of group ${group}`,
  'anti-affinity-broken': ({ group }) => `with a member of group ${group} already`,
  'segment-unreachable': (facts) => unreachableWords(facts),
  'segment-excluded': ({ network }) => `only segments of network ${network} within reach that failed before`,
  'addresses-exhausted': (facts) =>
    facts['short'] !== undefined
      ? `too few free addresses: ${facts['short']}`
      : `too few free IPv${facts['version']} addresses ${poolWords(facts)}: ${facts['asked']} requested, ${facts['free']} free`,
  'instance-cap': ({ instancesPerHostMax }) => `full: ${instancesPerHostMax} instances at most`,
  'several-causes': () => 'stopped by several further causes',
};

const EXCLUSIONS: Readonly<Record<string, (facts: StageFacts) => string>> = {
  'tried-in-build': ({ fault, hosts }) => `tried before in this build: ${fault} on ${hosts}`,
  'tried-in-move': ({ fault, hosts }) => `tried before in this move: ${fault} on ${hosts}`,
  'to-be-left': ({ hosts }) => `it is to leave ${hosts}`,
  'to-be-swept': ({ hosts }) => `an earlier copy of it is still to be destroyed on ${hosts}`,
};

/** Empty where the request gave no reason. */
function exclusionWords(facts: StageFacts): string {
  const words = EXCLUSIONS[facts['because'] ?? ''];
  return words === undefined ? '' : `: ${words(facts)}`;
}

function unreachableWords({ network, address, segment }: StageFacts): string {
  if (address === undefined) return `no segment of network ${network} within reach`;
  if (segment === undefined) return `address ${address} is in no segment of network ${network} any more`;
  return `out of reach of segment ${segment} of network ${network}, which address ${address} is in`;
}

function poolWords({ network, segment }: StageFacts): string {
  return segment === undefined ? `on network ${network}` : `in segment ${segment} of network ${network}`;
}

/** The sentence of a stage; undefined when it lost no host. */
export function stageSentence({ filter, before, after, cause, facts = {} }: ReportStage): string | undefined {
  if (cause === undefined) return undefined;
  const words = filter === 'only-host' ? 'not the requested host' : (CAUSES[cause]?.(facts) ?? cause);
  return `${before - after} of ${before} ${before === 1 ? 'host' : 'hosts'}: ${words}.`;
}

/** One line for each stage that lost hosts, in the order of the filters. */
export function reportSentences({ hosts, stages }: ScheduleReport): string[] {
  if (hosts === 0) return ['There are no hosts.'];
  return stages.flatMap((stage) => (stage.filter === 'site' ? siteSentence(stage) : (stageSentence(stage) ?? [])));
}

/** The number of hosts in other sites does not explain why none of this one fits, and is not for every caller. */
function siteSentence({ after, cause, facts }: ReportStage): readonly string[] {
  if (cause === undefined) return [];
  return [`Site ${facts?.['site']} has ${after === 0 ? 'no' : after} ${after === 1 ? 'host' : 'hosts'}.`];
}

/** All of it in one line. */
export function reportText(report: ScheduleReport): string {
  return reportSentences(report).join(' ');
}
