// The reason why a service is where it is: the record of an election, and its sentences. The record must stay bounded.
import type { Candidate, Candidates } from './candidates.ts';
import { isBeforeSwitch, type Cause, type Loss, type CandidateRejection, type Service, type Why } from './model.ts';

export interface ElectedHost {
  readonly host: string;
  readonly why: Why;
}

/** The record of a choice. Bounded: the first few of each list, and how many there are. */
export function whyOf(cause: Cause, among: Candidates, chosen: string | undefined, nowMs: number): Why {
  const { eligible, leaving, rejected } = among;
  // A requested target may not be among the best.
  const listed = eligible.count > 0 ? eligible : leaving;
  return {
    cause,
    ...(chosen !== undefined && { chosen }),
    candidates: [...listed.listed],
    candidatesInAll: listed.count,
    rejected: [...rejected.listed],
    rejectedInAll: rejected.count,
    atMs: nowMs,
  };
}

const CAUSE_SENTENCES: Readonly<Record<Cause, string>> = {
  'first-election': 'It was not served yet',
  // More precise where the cause is recorded: the host may still have forwarded.
  'host-lost': 'Its host was out of contact, forced down or removed',
  'data-path-lost': 'The switch of its host was out of control and forwarded nothing',
  'host-leaving': 'Its host is leaving',
  'presence-gone': 'Its host had no port of it any more',
  'host-unfit': 'Its host could not serve it any more',
  'fail-back': 'It returned to the host that it came from',
  rebalance: 'It was moved to rebalance the load',
  'asked-for': 'It was moved on request',
  recovered: 'It was not served, and there was a candidate again',
};

const LOSS_SENTENCES: Readonly<Record<Loss, string>> = {
  silent: 'Its host was out of contact',
  'bfd-down': 'Most of the peers of its host saw its BFD down',
  'forced-down': 'Its host was forced down',
  quarantined: 'Its host was put in quarantine',
  removed: 'Its host was removed',
};

export const REJECTION_SENTENCES: Readonly<Record<CandidateRejection | 'no-presence', string>> = {
  'unknown-host': 'is not known',
  removed: 'was removed',
  'not-in-service': 'is not in service',
  tombstoned: 'is leaving',
  quarantined: 'is quarantined',
  'not-connected': 'is not connected',
  'switch-out-of-control': 'has no control of its switch',
  'no-datapath-id': 'has no datapath id yet',
  'no-tunnel-address': 'has no tunnel address',
  'no-transport-zone': 'is in a transport zone that is not defined',
  'agent-too-old': 'has an agent that is too old',
  'no-way-out': 'does not reach the external network',
  'bfd-down': 'has BFD down to most of its peers',
  'no-presence': 'has no port of it',
};

/** Sentences for a person: why this host, the other candidates, and the rejections. */
export function whySentences({ designated, why, handover }: Service): string[] {
  const sentences = why === undefined ? ['It was never elected.'] : sentencesOf(why);
  // The reason why it is not served follows from the present state: no candidate, or elections are held.
  if (designated === undefined) sentences.push('It is not served now.');
  // During a handover there is a candidate: the target.
  else if (designated.degraded === true && handover === undefined) {
    sentences.push(`${designated.host} is leaving and has it only because no other host could take it.`);
  }
  if (handover !== undefined) {
    sentences.push(`A handover from ${handover.from} to ${handover.to} is under way (${handover.phase}).`);
    if (isBeforeSwitch(handover)) sentences.push(...sentencesOf(handover.why));
  }
  return sentences;
}

/** The present candidates, whatever was recorded: for a service that is not served, and for "why not c8". */
export interface CandidateSummary {
  readonly candidates: readonly Candidate[];
  readonly candidatesInAll: number;
  readonly rejected: Why['rejected'];
  readonly rejectedInAll: number;
}

export function summarizeCandidates({ eligible, rejected }: Candidates): CandidateSummary {
  return {
    candidates: [...eligible.listed],
    candidatesInAll: eligible.count,
    rejected: [...rejected.listed],
    rejectedInAll: rejected.count,
  };
}

export function candidateSentences({
  candidates,
  candidatesInAll,
  rejected,
  rejectedInAll,
}: CandidateSummary): string[] {
  const can = candidates.map(scoreText).join(', ');
  return [
    candidates.length === 0
      ? 'Now no host can take it.'
      : `Now these can take it: ${can}${andMore(candidatesInAll - candidates.length)}.`,
    ...rejectionSentences(rejected, rejectedInAll),
  ];
}

function rejectionSentences(rejected: Why['rejected'], inAll: number): string[] {
  if (rejected.length === 0) return [];
  const rejections = rejected.map(({ host, because }) => `${host} ${REJECTION_SENTENCES[because]}`).join(', ');
  return [`Not eligible: ${rejections}${andMore(inAll - rejected.length)}.`];
}

function sentencesOf(why: Why): string[] {
  const { cause, lost, chosen, candidates, candidatesInAll, rejected, rejectedInAll } = why;
  const occasion = lost === undefined ? CAUSE_SENTENCES[cause] : LOSS_SENTENCES[lost];
  const others = candidates.filter(({ host }) => host !== chosen);
  const more = candidatesInAll - candidates.length;
  return [
    `${occasion}: ${chosen === undefined ? 'no host was chosen' : chosenSentence(chosen, candidates)}${exceptionOf(why)}.`,
    ...(others.length === 0 ? [] : [`Other candidates: ${others.map(scoreText).join(', ')}${andMore(more)}.`]),
    ...rejectionSentences(...omitChosen(rejected, rejectedInAll, chosen)),
  ];
}

/** The rejection of a host that was chosen because there was no better one, or because it still had the connections. */
function exceptionOf({ chosen, rejected, kept }: Why): string {
  const own = rejected.find(({ host }) => host === chosen);
  const although = own === undefined ? '' : `, although it ${REJECTION_SENTENCES[own.because]}`;
  if (kept === true) return `${although}, because it still had the connections`;
  return own === undefined ? '' : `${although}: no other host could take it`;
}

/** A leaving host that was chosen all the same is reported with the choice. */
function omitChosen(
  rejected: Why['rejected'],
  inAll: number,
  chosen: string | undefined,
): [rejected: Why['rejected'], inAll: number] {
  const others = rejected.filter(({ host }) => host !== chosen);
  return [others, inAll - (rejected.length - others.length)];
}

function chosenSentence(chosen: string, candidates: readonly Candidate[]): string {
  const [best] = candidates;
  const own = candidates.find(({ host }) => host === chosen);
  if (own === undefined) return `${chosen} was chosen`;
  if (candidates.length === 1) return `${chosen} was chosen, the only candidate, with score ${own.score}`;
  if (best?.host !== chosen) return `${chosen} was chosen with score ${own.score}`;
  const tie = candidates[1]?.score === own.score;
  return `${chosen} was chosen with score ${own.score}, ${tie ? 'the first by id of those with the lowest' : 'the lowest'}`;
}

const scoreText = ({ host, score }: Candidate): string => `${host} with ${score}`;
const andMore = (count: number): string => (count > 0 ? ` and ${count} more` : '');
