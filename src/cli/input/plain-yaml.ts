// YAML and JSON as data alone: text keys, the plain types of JSON, references that stay small. It answers a value or the place
// and the problem; whatever the text is, it neither throws nor grows beyond its limits.
import {
  isAlias,
  isCollection,
  isMap,
  isPair,
  isScalar,
  LineCounter,
  parseDocument,
  visit,
  type Alias,
  type Document,
  type Node,
} from 'yaml';

interface Place {
  /** Both from 1. */
  readonly line: number;
  readonly col: number;
}

/** Not YAML, or not what this program takes of it. */
export interface YamlProblem {
  readonly kind: 'syntax' | 'unusable';
  readonly at: Place;
  readonly problem: string;
}

type ReadYaml = { readonly kind: 'value'; readonly value: unknown } | YamlProblem;

/** Nothing that the API takes is a tenth as deep; a deeper text costs the parser a stack. */
const DEPTH_MAX = 64;
/** With every reference written out: ten thousand hosts with ten fields. */
const NODES_MAX = 100_000;

const PLAIN_TAGS = new Set(
  ['str', 'int', 'float', 'bool', 'null', 'map', 'seq'].map((name) => `tag:yaml.org,2002:${name}`),
);

export function readYaml(text: string): ReadYaml {
  const lines = new LineCounter();
  const placeAt = (offset: number | undefined): Place => lines.linePos(offset ?? 0);
  const deep = findTooDeep(text);
  if (deep !== undefined) return { kind: 'unusable', at: locate(text, deep), problem: tooDeepText() };
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' });
  const [error] = document.errors;
  if (error !== undefined) {
    if (error.code === 'RESOURCE_EXHAUSTION')
      return { kind: 'unusable', at: placeAt(error.pos[0]), problem: tooDeepText() };
    const problem = error.code === 'MULTIPLE_DOCS' ? 'a second document begins' : error.message;
    return { kind: 'syntax', at: placeAt(error.pos[0]), problem: stripStop(problem) };
  }
  const found = problemIn(document);
  if (found !== undefined) return { kind: found.kind, at: placeAt(found.node?.range?.[0]), problem: found.problem };
  // Counted above, with a limit of our own.
  return { kind: 'value', value: document.toJS({ maxAliasCount: -1 }) as unknown };
}

function tooDeepText(): string {
  return `it is nested more than ${DEPTH_MAX} levels deep`;
}

function stripStop(sentence: string): string {
  return sentence.replace(/\.$/, '');
}

/**
 * Where brackets, or dashes in one line, are nested beyond the limit. A cheap look before the parser's: that one takes seconds and its
 * whole stack for a text of nothing but brackets. Brackets inside quotes count too, which only a text far from any use notices.
 */
function findTooDeep(text: string): number | undefined {
  let open = 0;
  let dashes = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '[' || character === '{') open += 1;
    else if (character === ']' || character === '}') open = Math.max(0, open - 1);
    else if (character === '\n') dashes = 0;
    else if ((character === '-' || character === '?') && text[at + 1] === ' ') dashes += 1;
    if (open > DEPTH_MAX * 4 || dashes > DEPTH_MAX * 4) return at;
  }
  return undefined;
}

function locate(text: string, offset: number): Place {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, col: (before.at(-1)?.length ?? 0) + 1 };
}

interface YamlFinding {
  readonly kind: 'syntax' | 'unusable';
  readonly node: Node | null | undefined;
  readonly problem: string;
}

function problemIn(document: Document.Parsed): YamlFinding | undefined {
  let found: YamlFinding | undefined;
  const unusable = (node: Node | null | undefined, problem: string): symbol => {
    found = { kind: 'unusable', node, problem };
    return visit.BREAK;
  };
  visit(document, {
    Node: (_, node, path) => {
      if (path.filter(isCollection).length > DEPTH_MAX) return unusable(node, tooDeepText());
      const { tag } = node as { readonly tag?: string };
      if (tag !== undefined && !PLAIN_TAGS.has(tag)) {
        return unusable(node, `the tag ${tag.replace('tag:yaml.org,2002:', '!!')} means nothing here; leave it out`);
      }
      if (isScalar(node) && typeof node.value === 'number' && !Number.isFinite(node.value)) {
        return unusable(node, 'this is not a number that can be sent');
      }
      if (isAlias(node) && node.resolve(document) === undefined) {
        found = { kind: 'syntax', node, problem: `nothing before it is called &${node.source}` };
        return visit.BREAK;
      }
      return undefined;
    },
    Pair: (_, { key }) => {
      if (isScalar(key) && typeof key.value === 'string') return undefined;
      const node = key as Node | null;
      return unusable(node, isScalar(node) ? 'a key must be text; put it in quotes' : 'a key must be text');
    },
  });
  return found ?? largeReference(document);
}

/** The reference that makes the whole grow beyond its limit, or that leads back into itself. */
function largeReference(document: Document.Parsed): YamlFinding | undefined {
  const sizes = new Map<Node, number | 'under way'>();
  let found: YamlFinding | undefined;
  const sizeOfAlias = (alias: Alias): number => {
    const target = alias.resolve(document);
    if (target === undefined) return 1;
    if (sizes.get(target) === 'under way') {
      found ??= { kind: 'unusable', node: alias, problem: `*${alias.source} refers to what it is a part of` };
      return 1;
    }
    return sizeOf(target);
  };
  const sizeOf = (node: unknown): number => {
    if (isPair(node)) return sizeOf(node.key) + sizeOf(node.value);
    if (isAlias(node)) return limitSize(node, sizeOfAlias(node));
    if (!isCollection(node)) return 1;
    const known = sizes.get(node);
    if (typeof known === 'number') return known;
    sizes.set(node, 'under way');
    let size = 1;
    for (const item of node.items) size = limitSize(isMap(node) ? undefined : (item as Node), size + sizeOf(item));
    sizes.set(node, size);
    return size;
  };
  const limitSize = (node: Node | undefined, size: number): number => {
    if (size <= NODES_MAX) return size;
    const problem = `with every reference (*name) written out it has more than ${NODES_MAX} values; write less, or split it`;
    if (node !== undefined && isAlias(node)) found ??= { kind: 'unusable', node, problem };
    return NODES_MAX + 1;
  };
  const whole = sizeOf(document.contents);
  if (found !== undefined || whole <= NODES_MAX) return found;
  return { kind: 'unusable', node: document.contents, problem: `it has more than ${NODES_MAX} values; split it` };
}
