// The fold over all modules. It refuses to start a program whose modules contradict each other or leave something out: a kind
// without a representation, a reason code without a sentence or with two, two things with one name.
import type { Route, Representation } from '../access/index.ts';
import { Registry, type AnyDoc, type Kind, type Model, type Setting } from '../fleet/index.ts';
import { explainer, type Explain, type OperationKind, type ReasonSentences } from '../operations/index.ts';
import type { DocumentMetric } from './document-metric.ts';
import { extensionPoint, type ExtensionPoint } from './extension-point.ts';
import type { Module, Scope } from './module.ts';

/** Changes every route of the program, whichever module it is of. */
export const ROUTE_TRANSFORMS = extensionPoint<(route: Route) => Route>('route-transforms');

export interface Composition {
  readonly modules: readonly Module[];
  readonly models: readonly Model[];
  /** By name, in the order of their names. */
  readonly settings: readonly Setting[];
  readonly operationKinds: ReadonlyMap<string, OperationKind>;
  readonly representations: readonly Representation<string, never>[];
  readonly metrics: readonly DocumentMetric<never>[];
  readonly sentences: readonly ReasonSentences[];
  readonly explain: Explain;
  /** How documents of this kind are shown. */
  representationOf<K extends string, D extends AnyDoc>(kind: Kind<K, D>): Representation<K, D>;
  /** Where documents of this kind belong. There is one for every kind. */
  scopeOf<D extends AnyDoc>(kind: Kind<string, D>): Scope<D>;
  /** Everything that modules contribute to a point, in the order of the modules. */
  all<T>(point: ExtensionPoint<T>): readonly T[];
  /** The one value that some module contributes. */
  one<T>(point: ExtensionPoint<T>): T;
  newRegistry(): Registry;
}

/** Modules that cannot be put together: a mistake in the program, found before it starts. */
export class BadComposition extends Error {
  override readonly name = 'BadComposition';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`The modules do not fit together: ${problems.join('; ')}.`);
    this.problems = problems;
  }
}

export function compose(modules: readonly Module[]): Composition {
  const composition = new ModuleComposition(modules);
  const problems = findProblems(composition);
  if (problems.length > 0) throw new BadComposition(problems);
  return composition;
}

/** Each part is computed on first use: a module may need the contributions of all others. */
class ModuleComposition implements Composition {
  readonly modules: readonly Module[];
  readonly sentences: readonly ReasonSentences[];
  readonly explain: Explain;
  #models: readonly Model[] | undefined;
  #operationKinds: ReadonlyMap<string, OperationKind> | undefined;
  #representations: readonly Representation<string, never>[] | undefined;
  #scopes: ReadonlyMap<string, Scope<never>> | undefined;

  constructor(modules: readonly Module[]) {
    this.modules = modules;
    this.sentences = modules.flatMap(({ sentences }) => sentences ?? []);
    this.explain = explainer(this.sentences);
  }

  get models(): readonly Model[] {
    return (this.#models ??= this.modules.flatMap(({ models }) => models?.(this) ?? []));
  }

  get settings(): readonly Setting[] {
    const all = this.modules.flatMap(({ settings }) => settings ?? []);
    return all.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  get operationKinds(): ReadonlyMap<string, OperationKind> {
    const kinds = (): OperationKind[] => this.modules.flatMap(({ operationKinds }) => operationKinds?.(this) ?? []);
    return (this.#operationKinds ??= new Map(kinds().map((kind) => [kind.name, kind])));
  }

  get representations(): readonly Representation<string, never>[] {
    return (this.#representations ??= this.modules.flatMap(({ representations }) => representations?.(this) ?? []));
  }

  get metrics(): readonly DocumentMetric<never>[] {
    return this.modules.flatMap(({ metrics }) => metrics ?? []);
  }

  representationOf<K extends string, D extends AnyDoc>(kind: Kind<K, D>): Representation<K, D> {
    const found = this.representations.find((one) => one.kind.name === kind.name);
    if (found === undefined) throw new BadComposition([`kind ${kind.name} has no representation`]);
    return found as unknown as Representation<K, D>;
  }

  scopeOf<D extends AnyDoc>({ name }: Kind<string, D>): Scope<D> {
    this.#scopes ??= new Map(scopesIn(this).map((scope) => [scope.kind.name, scope]));
    const scope = this.#scopes.get(name);
    if (scope === undefined) throw new BadComposition([`nothing says where documents of kind ${name} belong`]);
    return scope as unknown as Scope<D>;
  }

  all<T>(point: ExtensionPoint<T>): readonly T[] {
    const contributions = this.modules.flatMap((module) => module.contributions ?? []);
    return contributions.filter((one) => one.point === point.name).flatMap(({ values }) => values as readonly T[]);
  }

  one<T>(point: ExtensionPoint<T>): T {
    const [value, ...more] = this.all(point);
    if (value === undefined || more.length > 0) {
      const count = value === undefined ? 'no module' : `${more.length + 1} modules`;
      throw new BadComposition([`${count} contributed to ${point.name}, which takes exactly one value`]);
    }
    return value;
  }

  newRegistry(): Registry {
    return new Registry(this.models);
  }
}

function scopesIn({ modules, representations }: Composition): Scope<never>[] {
  return [...representations, ...modules.flatMap(({ hiddenKinds }) => hiddenKinds ?? [])];
}

function findProblems(composition: Composition): string[] {
  const { modules, models, sentences } = composition;
  const kinds = models.flatMap((model) => model.kinds.map(({ name }) => name));
  const scoped = scopesIn(composition).map(({ kind }) => kind.name);
  return [
    ...findDuplicates(modules.map(({ name }) => name)).map((name) => `two modules are named ${name}`),
    ...kinds
      .filter((kind) => !scoped.includes(kind))
      .map((kind) => `kind ${kind} has no representation: add one, or name it in hiddenKinds`),
    ...scoped.filter((kind) => !kinds.includes(kind)).map((kind) => `kind ${kind} is shown or hidden, and in no model`),
    ...findDuplicates(scoped).map((kind) => `kind ${kind} is shown or hidden twice`),
    ...findDuplicates(sentences.flatMap((table) => Object.keys(table))).map(
      (code) => `reason ${code} has two sentences`,
    ),
    ...findUnexplained(composition),
    ...findDuplicates(
      modules.flatMap((module) => module.operationKinds?.(composition).map(({ name }) => name) ?? []),
    ).map((name) => `two operation kinds are named ${name}`),
  ];
}

function findUnexplained({ modules, sentences }: Composition): string[] {
  const explained = new Set(sentences.flatMap((table) => Object.keys(table)));
  return modules.flatMap(({ name, reasonCodes = [] }) =>
    reasonCodes
      .filter((code) => !explained.has(code))
      .map((code) => `reason ${code} of module ${name} has no sentence: add it to the sentences of a module`),
  );
}

function findDuplicates(names: readonly string[]): string[] {
  const seen = new Set<string>();
  const twice = names.filter((name) => seen.size === seen.add(name).size);
  return [...new Set(twice)];
}
