// Finds the refusals in the source: the code, and the sentence that stands with it. Codes are literals, or constants of the source.
import { globSync, readFileSync } from 'node:fs';

export interface FoundRefusal {
  readonly path: string;
  readonly code: string;
  /** Every literal of the sentence, one after the other; empty when it comes from elsewhere. */
  readonly sentence: string;
}

const NO_PRODUCT = /(?:test|fixture|torture|contract|simulated|simulation)|^src\/cli\//;

const KINDS = 'invalid|not-found|conflict|unauthenticated|forbidden|precondition|limit|gone|unavailable';
const CODE = String.raw`(?:'(?<literal>[a-z0-9-]+)'|(?<constant>[A-Z][A-Z_]+(?:\.\w+)?))`;
/** An object with a kind of refusal, a call that makes one, or a problem of the HTTP API. */
const REFUSAL = new RegExp(
  [
    String.raw`kind: (?:'(?:${KINDS})'|kind),\s*code: ${CODE}`,
    String.raw`\b(?:invalid|conflict|forbidden)\(\s*${CODE.replaceAll('?<literal>', '?<called>').replaceAll('?<constant>', '?<named>')}`,
    String.raw`\b(?:HttpProblem|unavailableProblem)\(\{[^{}]*?\bcode: '(?<problem>[a-z0-9-]+)'`,
  ].join('|'),
  'g',
);

export function productSources(): readonly { readonly path: string; readonly text: string }[] {
  return globSync('src/**/*.ts')
    .filter((path) => !NO_PRODUCT.test(path))
    .map((path) => ({ path, text: readFileSync(path, 'utf8') }));
}

/** `NAME = 'text'` and the members of `NAME = { member: 'text' }`. */
export function constantsIn(texts: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const text of texts) {
    for (const [, name = '', value = ''] of text.matchAll(/\bconst ([A-Z][A-Z_]+) = '([a-z0-9-]+)'/g))
      found.set(name, value);
    for (const [, name = '', members = ''] of text.matchAll(/\bconst ([A-Z][A-Z_]+) = \{([^{}]*)\} as const/g))
      for (const [, member = '', value = ''] of members.matchAll(/(\w+): '([a-z0-9-]+)'/g))
        found.set(`${name}.${member}`, value);
  }
  return found;
}

export function refusalsIn(path: string, text: string, constants: ReadonlyMap<string, string>): FoundRefusal[] {
  return [...text.matchAll(REFUSAL)].flatMap((match) => {
    const { literal, called, problem, constant, named } = match.groups ?? {};
    const code = literal ?? called ?? problem ?? constants.get(constant ?? named ?? '');
    return code === undefined ? [] : [{ path, code, sentence: sentenceAt(text, match) }];
  });
}

function sentenceAt(text: string, { index, 0: head }: RegExpExecArray): string {
  const rest = text.slice(index, endOf(text, index + head.length));
  const given = /\b(?:message|detail)(?::\s+((?:'|"|`)[^]*)|:\s+(\w+)|,|\n| \})/.exec(rest);
  // A call: what follows the code.
  const second = /^\w+\(\s*(?:'[a-z0-9-]+'|[A-Z_]+),\s*((?:'|"|`)[^]*|\w+)/.exec(rest)?.[1];
  const sentence = second ?? given?.[1] ?? given?.[2] ?? (given === null ? '' : (/^(\w+)/.exec(given[0])?.[1] ?? ''));
  if (/^['"`]/.test(sentence)) return literalsOf(sentence.slice(0, endOfValue(sentence)));
  return sentence === '' ? '' : literalsOf(declarationBefore(text, sentence, index));
}

/** The value of the last `const NAME = …;` before this place. */
function declarationBefore(text: string, name: string, index: number): string {
  const declared = [...text.slice(0, index).matchAll(new RegExp(String.raw`\bconst ${name}(?:: \w+)? =`, 'g'))].at(-1);
  if (declared === undefined) return '';
  const from = declared.index + declared[0].length;
  return text.slice(from, text.indexOf(';\n', from));
}

/** The end of the brackets that are open at this place. */
function endOf(text: string, from: number): number {
  let depth = 1;
  for (let at = from; at < text.length; at += 1) {
    const character = text[at] ?? '';
    if ('{(['.includes(character)) depth += 1;
    else if ('})]'.includes(character)) depth -= 1;
    if (depth === 0) return at + 1;
  }
  return text.length;
}

/** Up to the comma that ends the value, which stands outside quotes. */
function endOfValue(text: string): number {
  let quote: string | undefined;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] ?? '';
    if (character === '\\') at += 1;
    else if (quote === undefined && /['"`]/.test(character)) quote = character;
    else if (character === quote) quote = undefined;
    else if (quote === undefined && ',;'.includes(character)) return at;
  }
  return text.length;
}

function literalsOf(text: string): string {
  return [...text.matchAll(/'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g)]
    .map(([, single, double, template]) => single ?? double ?? template ?? '')
    .join(' ');
}
