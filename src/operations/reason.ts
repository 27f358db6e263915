// Reasons to sentences: the one place from which the API, the CLI and the dashboard print why something waits.
import type { Reason } from '../fleet/index.ts';
import { endSentence } from './short-text.ts';

/** `explain` is for a reason within the reason. */
type Sentence = (reason: Reason, explain: Explain) => string;

/** Each module brings the sentences of its own codes. */
export type ReasonSentences = Readonly<Record<string, Sentence>>;

export const operationSentences: ReasonSentences = {
  'deadline-passed': ({ code: _, waitedFor, ...wait }, explain) => {
    if (waitedFor !== undefined)
      return `The deadline has passed. Until then it waited: ${explain({ ...wait, code: formatFact(waitedFor) })}`;
    const { message } = wait as Readonly<Record<string, Reason[string]>>;
    return message === undefined ? 'The deadline has passed.' : `The deadline has passed. ${formatFact(message)}`;
  },
  'driver-silent': () => 'A task of a host or an order to the network was not answered before the deadline.',
  // The counters show how many failed: the sentence says why.
  'items-failed': ({ code: _, failedFor, failed, done: __, ...why }, explain) => {
    if (failedFor === undefined) return 'Its failed items say why.';
    const sentence = explain({ ...why, code: formatFact(failedFor) });
    return failed === 1 ? sentence : `One of them: ${sentence}`;
  },
  'internal-error': ({ detail }) =>
    `A fault of the program stopped it: ${endSentence(formatFact(detail))} Retry or cancel it, and report this.`,
};

export type Explain = (reason: Reason) => string;

export function explainer(modules: readonly ReasonSentences[]): Explain {
  const sentences = new Map(modules.flatMap((module) => Object.entries(module)));
  const explain: Explain = (reason) => sentences.get(reason.code)?.(reason, explain) ?? formatUnknownReason(reason);
  return explain;
}

function formatUnknownReason({ code, ...facts }: Reason): string {
  const texts = Object.entries(facts).map(([name, fact]) => `${name} ${formatFact(fact)}`);
  return texts.length === 0 ? `${code}.` : `${code}: ${texts.join(', ')}.`;
}

/** What a host or a back end gave as problems; some give none. */
export function formatProblems(problems: Reason[string]): string {
  const all = formatFact(problems ?? []).replace(/[.]$/, '');
  return all === '' ? 'it did not say why' : all;
}

export function formatFact(fact: Reason[string]): string {
  return Array.isArray(fact) ? fact.join(', ') : String(fact);
}
