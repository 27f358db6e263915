// Reasons to sentences: the one place from which the API, the CLI and the dashboard print why something waits.
import type { Reason } from '../fleet/index.ts';

/** `explain` is for a reason within the reason. */
type Sentence = (reason: Reason, explain: Explain) => string;

/** Each room brings the sentences of its own codes. */
export type ReasonSentences = Readonly<Record<string, Sentence>>;

export const operationSentences: ReasonSentences = {
  'deadline-passed': ({ code: _, waitedFor, ...wait }, explain) =>
    waitedFor === undefined
      ? 'The deadline has passed.'
      : `The deadline has passed. Until then it waited: ${explain({ ...wait, code: said(waitedFor) })}`,
  // How many failed is told wherever the counters are: the sentence says why.
  'items-failed': ({ code: _, failedFor, failed, done: __, ...why }, explain) => {
    if (failedFor === undefined) return 'Its failed items say why.';
    const sentence = explain({ ...why, code: said(failedFor) });
    return failed === 1 ? sentence : `One of them: ${sentence}`;
  },
  'internal-error': ({ detail }) =>
    `A fault of the program stopped it: ${said(detail)}. Retry or cancel it, and report this.`,
};

export type Explain = (reason: Reason) => string;

export function explainer(rooms: readonly ReasonSentences[]): Explain {
  const sentences = new Map(rooms.flatMap((room) => Object.entries(room)));
  const explain: Explain = (reason) => sentences.get(reason.code)?.(reason, explain) ?? plain(reason);
  return explain;
}

function plain({ code, ...facts }: Reason): string {
  const told = Object.entries(facts).map(([name, fact]) => `${name} ${said(fact)}`);
  return told.length === 0 ? `${code}.` : `${code}: ${told.join(', ')}.`;
}

export function said(fact: Reason[string]): string {
  return Array.isArray(fact) ? fact.join(', ') : String(fact);
}
