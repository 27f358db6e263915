// Functions are verbs. One whose whole name is a preposition, a participle or the like says at no place where it is called what it does.
import type { Place } from './place.ts';

const PREPOSITIONS = [
  'after',
  'along',
  'at',
  'before',
  'beside',
  'between',
  'beyond',
  'by',
  'for',
  'from',
  'in',
  'inside',
  'of',
  'on',
  'outside',
  'over',
  'through',
  'to',
  'under',
  'until',
  'with',
  'within',
  'without',
];

const PARTICIPLES = [
  'aborted',
  'allocated',
  'applied',
  'asked',
  'bracketed',
  'broken',
  'carried',
  'changed',
  'checked',
  'chosen',
  'closed',
  'created',
  'decided',
  'done',
  'dropped',
  'ended',
  'failed',
  'fenced',
  'forbidden',
  'found',
  'given',
  'gone',
  'heard',
  'held',
  'judged',
  'kept',
  'left',
  'limited',
  'lost',
  'made',
  'masked',
  'missed',
  'moved',
  'named',
  'opened',
  'ordered',
  'orphaned',
  'planned',
  'recorded',
  'refused',
  'released',
  'removed',
  'requested',
  'reserved',
  'resolved',
  'returned',
  'routed',
  'said',
  'sent',
  'settled',
  'shown',
  'started',
  'stopped',
  'stored',
  'taken',
  'timed',
  'told',
  'wanted',
  'written',
];

const REFUSED: ReadonlySet<string> = new Set([...PREPOSITIONS, ...PARTICIPLES]);

/** Names that begin with one of these say where or when, and not what is done: `untilSettled`, `inSlices`, `withoutFault`. */
const REFUSED_BEGINNINGS: ReadonlySet<string> = new Set([
  'beyond',
  'by',
  'in',
  'over',
  'through',
  'unless',
  'until',
  'within',
  'without',
]);
/** `viaOf`, `untilDueMs`: selectors and amounts are values, whose names are nouns. */
const VALUE = /(?:Of|Ms)$/;

/**
 * With a noun behind it each of these is what the function answers, and not what it does: `keptBody` may read it, make it or write it. A constructor of a
 * small value has the value's name: see docs/glossary.md.
 */
const QUALIFIERS: ReadonlySet<string> = new Set([
  'affected',
  'associated',
  'blocked',
  'changed',
  'chosen',
  'claimed',
  'concerned',
  'connected',
  'damaged',
  'disconnected',
  'draining',
  'ended',
  'excluded',
  'exhausted',
  'expected',
  'former',
  'guarded',
  'incoming',
  'interrupted',
  'kept',
  'leaving',
  'missing',
  'moved',
  'offered',
  'ordered',
  'promised',
  'recirculated',
  'released',
  'releasing',
  'remaining',
  'reported',
  'requested',
  'required',
  'running',
  'sent',
  'stale',
  'tombstoned',
  'touched',
  'tried',
  'unclaimed',
  'unmatched',
  'unplugged',
  'unsettled',
  'unsynced',
  'used',
  'vacated',
  'visible',
]);
const SMALL_VALUE = /(?:Of|Ms|Hour|Text|Lines?|Sentences?|Reason|Problem|Id|Alarm|Sql)$|By[A-Z]/;

/** Members that JavaScript's own types have under these names: `list.at(0)`, `Thing.of(1)`, `Thing.from(list)`. */
const IDIOMS: ReadonlySet<string> = new Set(['at', 'from', 'of', 'with']);

/** Undefined means that the name is fine. Tests name what they expect, and lie outside. */
export function functionNameProblem(from: Place, name: string, isMember: boolean): string | undefined {
  if (from.area !== 'src' || from.role === 'testing') return undefined;
  if (!isRefused(name) || (isMember && IDIOMS.has(name))) return undefined;
  return `The function "${name}" is not named by a verb: say what it does (findX, notifyX), or what it answers (isX, hasX, xOf).`;
}

function isRefused(name: string): boolean {
  const [first = '', ...others] = name.split(/(?=[A-Z])/);
  if (REFUSED.has(name)) return true;
  if (others.length === 0) return false;
  return (REFUSED_BEGINNINGS.has(first) && !VALUE.test(name)) || (QUALIFIERS.has(first) && !SMALL_VALUE.test(name));
}
