// What is kept of an answer for a repeated request, as one short text: what the answer is made from again, not the answer. Every character
// of it is in the log, in the table of documents and in memory, for every write with a key.

/** What the body of an answer is made from again. */
export type KeptContent =
  /** The document that this change of the same commit left. */
  | { readonly kind: 'change'; readonly at: number }
  /** The document that the request names, as it was at a revision. */
  | { readonly kind: 'target'; readonly revision: number }
  /** Another document, as it was at a revision. */
  | { readonly kind: 'shown'; readonly of: string; readonly id: string; readonly revision: number }
  /** What the route makes an answer from, beside the request and the document that it names. */
  | { readonly kind: 'memo'; readonly memo: string; readonly revision?: number }
  /** A field that lists what the commit made, and the kind of it. */
  | { readonly kind: 'made'; readonly field: string; readonly of: string }
  /** The body itself; begun: without the operation, which the commit has. */
  | { readonly kind: 'body'; readonly body: object; readonly isBegun: boolean }
  /** It was too long to keep. */
  | { readonly kind: 'lost' };

export interface KeptParts {
  /** Digest of method, URL and body of the request; without spaces. */
  readonly of: string;
  readonly status: number;
  /** Hours since 1970. */
  readonly untilHour: number;
  readonly content: KeptContent;
  /** Whether the answer had the revision of the document that it showed. */
  readonly hasEtag: boolean;
  /** Where it is not the usual place of what was made, or empty where there is none. */
  readonly location?: string | undefined;
  /** Media type of the body when it is not JSON. */
  readonly type?: string | undefined;
  /** The fields that were shown once. */
  readonly secrets: readonly string[];
}

const FORM = /^(\S+) (\d{3})([0-9a-z]+) ((?:[@:!]\S* )*)(\S)(.*)$/s;
const BASE = 36;

export function packAnswer({ of, status, untilHour, content, hasEtag, location, type, secrets }: KeptParts): string {
  const options = [
    ...(location === undefined ? [] : [`@${encodeURI(location)} `]),
    ...(type === undefined ? [] : [`:${encodeURIComponent(type)} `]),
    ...(secrets.length === 0 ? [] : [`!${secrets.map(encodeURIComponent).join()} `]),
  ];
  return `${of} ${status}${untilHour.toString(BASE)} ${options.join('')}${packContent(content, hasEtag)}`;
}

export function unpackAnswer(kept: string): KeptParts {
  const [, of, status, untilHour, options = '', letter = '-', rest = ''] = FORM.exec(kept) ?? [];
  if (of === undefined || untilHour === undefined) throw new Error(`"${kept}" is no kept answer`);
  const found = new Map(
    options
      .split(' ')
      .filter((option) => option !== '')
      .map((option) => [option.charAt(0), option.slice(1)]),
  );
  const [location, type, secrets] = ['@', ':', '!'].map((name) => found.get(name));
  return {
    of,
    status: Number(status),
    untilHour: Number.parseInt(untilHour, BASE),
    content: unpackContent(letter.toUpperCase(), rest),
    hasEtag: letter !== letter.toLowerCase(),
    secrets: secrets === undefined ? [] : secrets.split(',').map(decodeURIComponent),
    ...(location !== undefined && { location: decodeURI(location) }),
    ...(type !== undefined && { type: decodeURIComponent(type) }),
  };
}

/** Without parsing the rest: retention reads it of every one. */
export function keptUntilHourOf(kept: string): number {
  return Number.parseInt(/^\S+ \d{3}([0-9a-z]+) /.exec(kept)?.[1] ?? '0', BASE);
}

/** The letter of a document is a small one where its revision was not said. */
function packContent(content: KeptContent, hasEtag: boolean): string {
  switch (content.kind) {
    case 'change':
      return `${hasEtag ? 'C' : 'c'}${content.at}`;
    case 'target':
      return `${hasEtag ? 'T' : 't'}${content.revision}`;
    case 'shown':
      return `${hasEtag ? 'S' : 's'}${content.of} ${encodeURI(content.id)} ${content.revision}`;
    case 'memo':
      return `M${content.revision ?? ''} ${content.memo}`;
    case 'made':
      return `L${content.field} ${content.of}`;
    case 'body':
      return `${content.isBegun ? 'O' : 'B'}${JSON.stringify(content.body)}`;
    case 'lost':
      return '-';
  }
}

function unpackContent(letter: string, rest: string): KeptContent {
  const words = rest.split(' ');
  const [first = '', second = '', third] = words;
  switch (letter) {
    case 'C':
      return { kind: 'change', at: Number(rest) };
    case 'T':
      return { kind: 'target', revision: Number(rest) };
    case 'S':
      return { kind: 'shown', of: first, id: decodeURI(second), revision: Number(third) };
    case 'M':
      return { kind: 'memo', memo: rest.slice(first.length + 1), ...(first !== '' && { revision: Number(first) }) };
    case 'L':
      return { kind: 'made', field: first, of: second };
    case 'B':
    case 'O':
      return { kind: 'body', body: JSON.parse(rest) as object, isBegun: letter === 'O' };
    default:
      return { kind: 'lost' };
  }
}
