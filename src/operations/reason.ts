// Reasons to sentences: the one place from which the API, the CLI and the dashboard print why something waits.
import type { Reason } from '../fleet/index.ts';

type Sentence = (reason: Reason) => string;

/** Each room brings the sentences of its own codes. */
export type ReasonSentences = Readonly<Record<string, Sentence>>;

export const operationSentences: ReasonSentences = {
  'deadline-passed': ({ waitedFor }) =>
    waitedFor === undefined
      ? 'The deadline has passed.'
      : `The deadline has passed; the last wait was for ${said(waitedFor)}.`,
  'items-failed': ({ failed, done }) => `${said(failed)} failed, ${said(done)} done.`,
  'internal-error': ({ detail }) =>
    `A fault of the program stopped it: ${said(detail)}. Retry or cancel it, and report this.`,
};

export type Explain = (reason: Reason) => string;

export function explainer(rooms: readonly ReasonSentences[]): Explain {
  const sentences = new Map(rooms.flatMap((room) => Object.entries(room)));
  return (reason) => sentences.get(reason.code)?.(reason) ?? plain(reason);
}

function plain({ code, ...facts }: Reason): string {
  const told = Object.entries(facts).map(([name, fact]) => `${name} ${said(fact)}`);
  return told.length === 0 ? `${code}.` : `${code}: ${told.join(', ')}.`;
}

export function said(fact: Reason[string]): string {
  return Array.isArray(fact) ? fact.join(', ') : String(fact);
}
