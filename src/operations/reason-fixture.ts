// What every sentence to an operator must be, whatever its code: there, whole, and without a gap where a fact should be.
import type { Reason } from '../fleet/index.ts';
import { explainer, type Explain, type ReasonSentences } from './reason.ts';

/** Codes within a reason: what it waited for before, what its items failed for. */
const NESTED = ['waitedFor', 'failedFor'] as const;

/** What a fact that is missing leaves behind, and a list that is empty. */
const GAPS = /undefined|null|NaN|\[object|\(\)|""|: ?[.;,]| {2}/;

/** The simulation checks at every commit. */
const explainers = new WeakMap<readonly ReasonSentences[], Explain>();

function explainerOf(modules: readonly ReasonSentences[]): Explain {
  const known = explainers.get(modules) ?? explainer(modules);
  explainers.set(modules, known);
  return known;
}

export function problemsOfSentence(modules: readonly ReasonSentences[], reason: Reason): string[] {
  const codes = [
    reason.code,
    ...NESTED.flatMap((nested) => (reason[nested] === undefined ? [] : [String(reason[nested])])),
  ];
  const unknown = codes.filter((code) => modules.every((module) => !Object.hasOwn(module, code)));
  if (unknown.length > 0) return unknown.map((code) => `"${code}" has no sentence`);
  const sentence = explainerOf(modules)(reason);
  return [
    ...(GAPS.test(sentence) ? [`a gap in: ${sentence}`] : []),
    ...(/^[\p{L}\d(].*[.)]$/su.test(sentence) || sentence.endsWith('…') ? [] : [`no whole sentence: ${sentence}`]),
  ];
}
