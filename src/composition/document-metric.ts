// A metric that counts documents of one kind by some of their fields.
import type { AnyDoc, Kind } from '../fleet/index.ts';

export interface DocumentMetric<D extends AnyDoc = AnyDoc> {
  readonly name: string;
  readonly help: string;
  readonly kind: Kind<string, D>;
  readonly labels: readonly string[];
  /** The values of the labels, in their order. */
  readonly labelsOf: (doc: D) => readonly string[];
}
