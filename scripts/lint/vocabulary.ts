// Words that docs/glossary.md retired. They do not come back in identifiers and file names: each has a word of the field instead.

import { KEPT_NAMES } from './kept-names.ts';

interface RetiredWord {
  /** Words of a name that stand next to each other: `inLine`, `in-line` and `IN_LINE` are all `in line`. */
  readonly words: string;
  readonly use: string;
  /** `declared`: names that other code refers to, and file names. Local variables and parameters may be called so. */
  readonly where: 'everywhere' | 'declared';
  /** Where it is retired; undefined for the whole project. */
  readonly paths?: readonly string[];
}

/** Modules that have nothing to do with agents' views. */
const REPRESENTING = ['src/access/', 'src/api/'];

export const RETIRED_WORDS: readonly RetiredWord[] = [
  retired('desk', 'gateway (of agents) or responder (of packets)'),
  retired('switch line', 'switch reconciler'),
  retired('in line', 'converged'),
  retired('lined', 'reconcile result, or converged'),
  retired('bring in', 'reconcile'),
  retired('unheard', 'BFD down (data path) or not connected (control path)'),
  retired('hearing', 'BFD status'),
  retired('deaf', 'partitioned'),
  retired('deafness', 'clean-up blocker'),
  retired('senses', 'failure detector'),
  retired('ears', 'BFD reports'),
  retired('seeder', 'conntrack sync'),
  retired('errand', 'sync task, or task'),
  retired('errands', 'sync tasks, or tasks'),
  retired('hand over', 'handover (of a designation) or migrate (of an instance)'),
  retired('hand overs', 'handovers'),
  retired('handed over', 'handover, or migrated'),
  retired('knocked', 'revoked credential'),
  retired('outcast', 'excluded'),
  retired('surroundings', 'local environment'),
  retired('nobody around', 'static environment'),
  retired('vouch', 'fence (by an operator), or trust'),
  retired('vouched', 'fenced (by an operator), or trusted'),
  retired('vouches', 'fences, or trusts'),
  retired('vouching', 'fencing, or trust'),
  retired('decree', 'audited command'),
  retired('built elsewhere', 'rebuilt'),
  retired('turns away', 'redirects'),
  retired('let go', 'release, or cancel'),
  retired('give up', 'fail'),
  retired('gave up', 'failed'),
  retired('given up', 'failed'),
  retired('went well', 'succeeded'),
  retired('pace', 'backoff'),
  retired('again after', 'backoff'),
  retired('duties', 'responder configuration'),
  retired('unasked', 'undelivered'),
  retired('understood', 'valid, or validate'),
  retired('judge', 'assess, or verdict'),
  retired('judged', 'assessed, or verdict'),
  retired('judges', 'assesses'),
  retired('judging', 'assessing'),
  retired('judgement', 'assessment, or verdict'),
  retired('applier', 'reconcile loop'),
  retired('bell', 'wake signal'),
  retired('asked', 'request, or requested', 'declared'),
  retired('told', 'report, answer or refusal', 'declared'),
  retired('heard', 'received, connected or BFD up', 'declared'),
  { ...retired('view', 'representation (a view is what an agent gets)'), paths: REPRESENTING },
  { ...retired('views', 'representations (a view is what an agent gets)'), paths: REPRESENTING },
];

/** What is wrong with a name, and what to say instead. Undefined means that it is fine. */
export function vocabularyProblem(path: string, name: string, isDeclared: boolean): string | undefined {
  const words = ` ${wordsOf(name).join(' ')} `;
  const found = RETIRED_WORDS.find(
    (one) =>
      (isDeclared || one.where === 'everywhere') &&
      (one.paths?.some((prefix) => path.startsWith(prefix)) ?? true) &&
      words.includes(` ${one.words} `),
  );
  if (found === undefined || isKept(path, name)) return undefined;
  return `"${name}" has a retired word (${found.words}). The field says: ${found.use}. See docs/glossary.md.`;
}

/** `#handOverMs`, `hand-over-ms` and `HAND_OVER_MS` have the same words. */
export function wordsOf(name: string): readonly string[] {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
}

function isKept(path: string, name: string): boolean {
  return KEPT_NAMES.some(
    (kept) => kept.name === name.replace('#', '') && kept.paths.some((prefix) => path.startsWith(prefix)),
  );
}

function retired(words: string, use: string, where: RetiredWord['where'] = 'everywhere'): RetiredWord {
  return { words, use, where };
}
