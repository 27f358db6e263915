// Names that the vocabulary and the rule on functions refuse, each beside one that they let pass.
import type { Breaking, Case } from './lint-case.ts';

const FUNCTION_NAME = 'muster(function-name)';
const VOCABULARY = 'muster(vocabulary)';

/** A retired word in each kind of name, beside the word that the field has. */
const RETIRED: readonly (readonly [name: string, bad: string, good: string])[] = [
  ['class', 'export class Desk { readonly a = 1; }', 'export class AgentGateway { readonly a = 1; }'],
  ['function', 'export const isInLine = (): boolean => true;', 'export const hasConverged = (): boolean => true;'],
  ['constant', 'export const HAND_OVER_MS = 1;', 'export const HANDOVER_MS = 1;'],
  ['type', 'export type Unheard = string;', 'export type BfdDown = string;'],
  ['member', 'export interface A { readonly askedMs: number }', 'export interface A { readonly requestedMs: number }'],
  ['property', 'export const a = { told: 1 };', 'export const a = { shown: 1 };'],
  [
    'shorthand',
    'export const f = (asked: number): object => ({ asked });',
    'export const f = (requested: number): object => ({ requested });',
  ],
  [
    'method',
    'export class A { readonly b = 1; wasTold(): number { return this.b; } }',
    'export class A { readonly b = 1; hasReported(): number { return this.b; } }',
  ],
  [
    'private-member',
    'export class A { readonly #errand = 1; get b(): number { return this.#errand; } }',
    'export class A { readonly #task = 1; get b(): number { return this.#task; } }',
  ],
  [
    'parameter',
    'export const f = (surroundings: number): number => surroundings;',
    'export const f = (environment: number): number => environment;',
  ],
];

/** Names of functions that are no verbs, in each place where a function gets its name, beside one that is a verb. */
const FUNCTIONS: readonly (readonly [name: string, bad: string, good: string])[] = [
  ['function', 'export function refused(): number { return 1; }', 'export function refuse(): number { return 1; }'],
  ['constant', 'export const within = (): number => 1;', 'export const isWithin = (): boolean => true;'],
  [
    'local',
    'export const f = (): number => { const taken = (): number => 1; return taken(); };',
    'export const f = (): number => { const taken = 1; return taken; };',
  ],
  [
    'method',
    'export class A { readonly b = 1; left(): number { return this.b; } }',
    'export class A { readonly b = 1; at(): number { return this.b; } get left(): number { return this.b; } }',
  ],
  [
    'private-method',
    'export class A { readonly b = 1; c(): number { return this.#planned(); } #planned(): number { return this.b; } }',
    'export class A { readonly b = 1; c(): number { return this.#plan(); } #plan(): number { return this.b; } }',
  ],
  [
    'beginning',
    'export const inSlices = (): number => 1;',
    'export const splitIntoSlices = (): number => 1; export const untilDueMs = (): number => 2; export const viaOf = (): number => 3;',
  ],
  [
    'qualifier',
    'export const touchedPorts = (): number => 1;',
    'export const listTouchedPorts = (): number => 1; export const endedReason = (): number => 2; export const keptBodyOf = (): number => 3;',
  ],
  ['hook', 'export const untilSettled = (): number => 1;', 'export const beforeApply = (): number => 1;'],
  ['field', 'export class A { readonly done = (): number => 1; }', 'export class A { readonly done = 1; }'],
  [
    'type',
    'export interface A { readonly refused: () => void }',
    'export interface A { readonly onRefused: () => void }',
  ],
  ['signature', 'export interface A { told(): void }', 'export interface A { readonly shown: boolean; of(): void }'],
];

export const NAMES_BREAKING: readonly Breaking[] = [
  ...FUNCTIONS.map(([name, text]) => ({
    name: `function-name-of-a-${name}`,
    path: `src/hosts/f-${name}-bad.ts`,
    text: `${text}\n`,
    rule: FUNCTION_NAME,
  })),
  ...RETIRED.map(([name, text]) => retired(name, `src/election/r-${name}-bad.ts`, text)),
  retired('file-name', 'src/election/outcast-hosts.ts', 'export const a = 1;'),
  retired('retired-words-count-outside-src', 'sim/seeder.ts', 'export const a = 1;'),
  retired('a-view-is-an-agents', 'src/access/r-view.ts', 'export const f = (view: number): number => view;'),
  retired('views-are-agents', 'src/api/r-views.ts', 'export const TOKEN_VIEWS = 1;'),
  retired('a-kept-name-stays-where-it-is', 'src/keys/handover.ts', 'export const handOver = 1;'),
];

export const NAMES_KEEPING: readonly Case[] = [
  ...FUNCTIONS.map(([name, , text]) => keeping(`function-name-of-a-${name}`, `src/hosts/f-${name}-good.ts`, text)),
  keeping('tests-name-what-they-expect', 'src/hosts/f-names.test.ts', 'export const refused = (): number => 1;'),
  keeping('functions-outside-src-have-any-name', 'sim/f-names.ts', 'export const refused = (): number => 1;'),
  ...RETIRED.map(([name, , text]) => keeping(name, `src/election/r-${name}-good.ts`, text)),
  keeping(
    'a-local-variable-may-be-called-so',
    'src/election/r-local.ts',
    'export const f = (asked: number): number => { const told = asked + 1; return told * 2; };',
  ),
  keeping(
    'an-agents-view-is-one-where-agents-are-known',
    'src/hosts/r-view.ts',
    'export const f = (view: number): number => view;',
  ),
  keeping('a-viewer-has-no-view', 'src/access/r-viewer.ts', "export const VIEWER = 'viewer';"),
  keeping(
    'a-word-inside-another-is-none',
    'src/election/r-inside.ts',
    'export const isInLineage = (): boolean => true;',
  ),
];

function retired(name: string, path: string, text: string): Breaking {
  return { name, path, text: `${text}\n`, rule: VOCABULARY };
}

function keeping(name: string, path: string, text: string): Case {
  return { name, path, text: `${text}\n` };
}
