// Everything that one module brings to the program, as one value. `main/` and `sim/` fold a list of them; what a module does not
// say here does not exist, and nothing about it is said anywhere else.
import type { ProjectOf, Route, SiteOf, Representation } from '../access/index.ts';
import type { AnyDoc, Kind, Model, Setting } from '../fleet/index.ts';
import type { Driver, OperationKind, ReasonSentences } from '../operations/index.ts';
import type { Composition } from './compose.ts';
import type { DocumentMetric } from './document-metric.ts';
import type { Contribution } from './extension-point.ts';
import type { Controller, Provider, RequiredKey, Runtime } from './server-runtime.ts';

/** Where a document belongs: `wholeFleet` and `noProject` for what has neither. */
export interface Scope<D extends AnyDoc = AnyDoc> {
  readonly kind: Kind<string, D>;
  readonly siteOf: SiteOf<D>;
  readonly projectOf: ProjectOf<D>;
}

export interface Module {
  /** The name of its folder. */
  readonly name: string;
  /** Kinds come before those that hang on them: retention forgets in this order. */
  readonly models?: (composition: Composition) => readonly Model[];
  readonly settings?: readonly Setting[];
  readonly operationKinds?: (composition: Composition) => readonly OperationKind[];
  /** What it adds to other modules: evacuators, view parts and the like. */
  readonly contributions?: readonly Contribution[];
  /** The codes of all reasons that it gives; the sentence of each may be another module's. */
  readonly reasonCodes?: readonly string[];
  /** The sentences of reasons, by their codes. */
  readonly sentences?: readonly ReasonSentences[];
  /** How its kinds are shown by the API, in watches and in the history. */
  readonly representations?: (composition: Composition) => readonly Representation<string, never>[];
  /** Kinds that the API never shows, and the site and project of their documents. */
  readonly hiddenKinds?: readonly Scope<never>[];
  readonly metrics?: readonly DocumentMetric<never>[];
  /** What it needs and does not provide itself: a server in which nothing provides one of them does not start. */
  readonly requires?: readonly RequiredKey[];
  /** Running parts that others get by their key. */
  readonly services?: readonly Provider[];
  /** Running parts without a key. */
  readonly controllers?: (runtime: Runtime) => readonly Controller[];
  /** By the name that actions give. */
  readonly drivers?: (runtime: Runtime) => Readonly<Record<string, Driver>>;
  readonly routes?: (runtime: Runtime) => readonly Route[];
}

/** A kind that is never shown, and where its documents belong. */
export function hideKind<D extends AnyDoc>(kind: Kind<string, D>, scope: Omit<Scope<D>, 'kind'>): Scope<D> {
  return { kind, ...scope };
}
