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
  'asked',
  'bracketed',
  'broken',
  'carried',
  'changed',
  'checked',
  'chosen',
  'decided',
  'done',
  'ended',
  'failed',
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
  'made',
  'named',
  'ordered',
  'orphaned',
  'planned',
  'refused',
  'routed',
  'said',
  'sent',
  'shown',
  'stopped',
  'taken',
  'told',
  'wanted',
];

const REFUSED: ReadonlySet<string> = new Set([...PREPOSITIONS, ...PARTICIPLES]);

/** Members that JavaScript's own types have under these names: `list.at(0)`, `Thing.of(1)`, `Thing.from(list)`. */
const IDIOMS: ReadonlySet<string> = new Set(['at', 'from', 'of', 'with']);

/** Undefined means that the name is fine. Tests name what they expect, and lie outside. */
export function functionNameProblem(from: Place, name: string, isMember: boolean): string | undefined {
  if (from.area !== 'src' || from.role === 'testing') return undefined;
  if (!REFUSED.has(name) || (isMember && IDIOMS.has(name))) return undefined;
  return `The function "${name}" is not named by a verb: say what it does (findX, notifyX), or what it answers (isX, hasX, xOf).`;
}
