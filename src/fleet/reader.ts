// The reading interface of the fleet: the durable projection and the decider's stage both implement it.
import type { AnyDoc, Id, Kind, Stored } from './document.ts';
import type { Index, ProjectionState, Projection } from './registry.ts';

export interface FleetReader {
  /** The revision this reader shows. In a stage: that of its last staged change. */
  readonly revision: number;
  get<K extends string, D extends AnyDoc>(kind: Kind<K, D>, id: Id<K>): Stored<K, D> | undefined;
  /** All documents of a kind in id order. Costs O(kind): not for the path of a request. */
  all<K extends string, D extends AnyDoc>(kind: Kind<K, D>): Iterable<Stored<K, D>>;
  count(kind: Kind<string, never>): number;
  /** Documents under an index key, in id order. */
  find<K extends string, D extends AnyDoc>(index: Index<K, D>, key: string): Iterable<Stored<K, D>>;
  countOf(index: Index<string, never>, key: string): number;
  projection<P extends ProjectionState>(projection: Projection<P>): P;
}

/** Every document of a kind in id order, as an array. */
export function listOf<K extends string, D extends AnyDoc>(fleet: FleetReader, kind: Kind<K, D>): Stored<K, D>[] {
  return [...fleet.all(kind)];
}
