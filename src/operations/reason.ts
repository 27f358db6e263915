// Reasons to sentences: the one place from which the API, the CLI and the dashboard print why something waits.
import type { Reason } from '../fleet/index.ts';

/** `explain` is for a reason within the reason. */
type Sentence = (reason: Reason, explain: Explain) => string;

/** Each room brings the sentences of its own codes. */
export type ReasonSentences = Readonly<Record<string, Sentence>>;

export const operationSentences: ReasonSentences = {
  'deadline-passed': ({ code: _, waitedFor, ...wait }, explain) => {
    if (waitedFor !== undefined)
      return `The deadline has passed. Until then it waited: ${explain({ ...wait, code: said(waitedFor) })}`;
    const { message } = wait as Readonly<Record<string, Reason[string]>>;
    return message === undefined ? 'The deadline has passed.' : `The deadline has passed. ${said(message)}`;
  },
  'driver-silent': () => 'What was asked of the hosts or of the network was not answered before the deadline.',
  // How many failed is told wherever the counters are: the sentence says why.
  'items-failed': ({ code: _, failedFor, failed, done: __, ...why }, explain) => {
    if (failedFor === undefined) return 'Its failed items say why.';
    const sentence = explain({ ...why, code: said(failedFor) });
    return failed === 1 ? sentence : `One of them: ${sentence}`;
  },
  'internal-error': ({ detail }) =>
    `A fault of the program stopped it: ${said(detail).replace(/[.]$/, '')}. Retry or cancel it, and report this.`,
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

/** What a host or a back end gave as problems; some give none. */
export function saidProblems(problems: Reason[string]): string {
  const all = said(problems ?? []).replace(/[.]$/, '');
  return all === '' ? 'it did not say why' : all;
}

export function said(fact: Reason[string]): string {
  return Array.isArray(fact) ? fact.join(', ') : String(fact);
}
