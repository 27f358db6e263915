// A commit as text: when, who, the changes, and why.
import { stateColour, type Paint } from './paint.ts';
import { sanitizeLine } from './text-width.ts';
import type { Commit } from '../client/representations.ts';

type FieldChange = NonNullable<Change['fields']>[number];

type Change = Commit['changes'][number];

/** Changes listed for one commit; the rest is counted. */
const CHANGES_MAX = 8;

export function commitLines(commit: Commit, paint: Paint, when: string): string[] {
  const { revision, by, why, operation, changes } = commit;
  const about = [
    ...(why === undefined ? [] : [sanitizeLine(why)]),
    ...(operation === undefined ? [] : [`in ${operation}`]),
  ].join(', ');
  const head = `${paint('dim', `${revision}  ${when}`)}  ${sanitizeLine(by)}${about === '' ? '' : `: ${about}`}`;
  const lines = changes.slice(0, CHANGES_MAX).map((change) => `  ${changeText(change, paint)}`);
  const more = changes.length - CHANGES_MAX;
  return [head, ...lines, ...(more > 0 ? [`  and ${more} more`] : [])];
}

function changeText({ kind, id, doc, fields }: Change, paint: Paint): string {
  const name = `${kind}/${id}`;
  if (doc === null) return `${paint('bold', name)} ${paint('red', 'deleted')}`;
  if (fields !== undefined) {
    const texts = fields
      .flatMap(expandFields)
      .filter(({ field }) => !OMITTED_FIELDS.test(field))
      .map(fieldText);
    return `${paint('bold', name)} ${texts.length === 0 ? 'unchanged' : texts.join(', ')}`;
  }
  return `${paint('bold', name)} ${stateText(doc, paint)}`.trimEnd();
}

/** The state of a document in a word or two. */
function stateText(doc: Readonly<Record<string, unknown>>, paint: Paint): string {
  const { state, connection, step, severity } = doc;
  const link = typeof connection === 'object' && connection !== null && 'state' in connection ? connection.state : '';
  const words = [state, link, step, severity].filter((word): word is string => typeof word === 'string' && word !== '');
  return words.map((word) => paint(stateColour(word), sanitizeLine(word))).join(' ');
}

/** Every change sets these; the head of the commit already shows who and when. */
const OMITTED_FIELDS = /^\/changed(?:By|AtMs)$/;

/** Of an object that was another before, only what differs in it. */
function expandFields({ field, from, to }: FieldChange): FieldChange[] {
  if (!isPlain(from) || !isPlain(to) || 'state' in to) return [{ field, from, to }];
  return [...new Set([...Object.keys(from), ...Object.keys(to)])]
    .filter((name) => JSON.stringify(from[name]) !== JSON.stringify(to[name]))
    .map((name) => ({ field: `${field}.${name}`, from: from[name], to: to[name] }));
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const VALUE_LENGTH_MAX = 60;

function fieldText({ field, from, to }: FieldChange): string {
  const name = field.slice(1);
  if (to === undefined) return `${name} removed`;
  return from === undefined ? `${name} ${valueText(to)}` : `${name} ${valueText(from)} → ${valueText(to)}`;
}

function valueText(value: unknown): string {
  const shown = isPlain(value) && 'state' in value ? value['state'] : value;
  const text = sanitizeLine(typeof shown === 'string' ? shown : JSON.stringify(shown));
  return text.length > VALUE_LENGTH_MAX ? `${text.slice(0, VALUE_LENGTH_MAX - 1)}…` : text;
}
