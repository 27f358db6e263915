// The nodes as requests look for them: grouped by shape, and of each shape the free ones on a ring. The cost of a choice grows with the shapes and
// never with the nodes; what a request makes of the shapes is remembered until there are others. It must be a function of the documents alone.
import type { StoredNode } from '../nodes/transitions.ts';
import type { AppliedChange, FleetReader, Forkable, Projection, Stored } from '../../fleet/index.ts';
import { bucketOf, NODE, type Node } from '../model.ts';
import { hardwareOf, hasSameShape, shapeKey, type Hardware } from './hardware.ts';
import { compareSurplus, findMismatch, surplusHardwareOf, type Surplus } from './match.ts';
import { NodeRing } from './node-ring.ts';
import { requirementsKey, type Requirements } from './requirements.ts';

/** Nodes that differ in nothing that a request can require. */
export interface Shape {
  readonly key: string;
  readonly hardware: Hardware;
  /** Those that may be claimed. */
  readonly free: NodeRing;
  /** All of them but removed ones. */
  count: number;
}

/** Shapes that match, the best first; those of one rank are as good as each other. */
export type Ranking = readonly (readonly Shape[])[];

/** Rankings that are remembered. Requests are made from a few flavors, whose rankings are needed again and again. */
const RANKINGS_MAX = 64;

export class NodeIndex implements Forkable {
  readonly #shapes: Map<string, Shape>;
  /** Most requests name a class: only its shapes are compared then. */
  readonly #byClass = new Map<string | undefined, Set<Shape>>();
  /** By node: to write down what a node is made of costs more than to reserve it. */
  readonly #shapeOf: Map<string, Shape>;
  readonly #rankings = new Map<string, Ranking>();

  constructor(shapes = new Map<string, Shape>(), shapeOf = new Map<string, Shape>()) {
    this.#shapes = shapes;
    this.#shapeOf = shapeOf;
    for (const shape of shapes.values()) this.#classOf(shape).add(shape);
  }

  fork(): NodeIndex {
    const shapes = new Map([...this.#shapes].map(([key, shape]) => [key, { ...shape, free: shape.free.copy() }]));
    const shapeOf = [...this.#shapeOf].map(([id, { key }]) => [id, shapes.get(key) as Shape] as const);
    return new NodeIndex(shapes, new Map(shapeOf));
  }

  apply({ before, after }: AppliedChange): void {
    const was = omitRemoved(before);
    const is = omitRemoved(after);
    if (was !== undefined && is !== undefined && hasSameShape(was.doc, is.doc)) {
      this.#setFree(is.id, isFree(was.doc), isFree(is.doc));
      return;
    }
    if (was !== undefined) this.#remove(was);
    if (is !== undefined) this.#add(is);
  }

  #setFree(id: string, was: boolean, is: boolean): void {
    if (was === is) return;
    const { free } = this.#shapeOf.get(id) as Shape;
    if (is) free.add(id);
    else free.delete(id);
  }

  #add({ id, doc }: StoredNode): void {
    const key = shapeKey(doc);
    let shape = this.#shapes.get(key);
    if (shape === undefined) {
      this.#shapes.set(key, (shape = { key, hardware: hardwareOf(doc), free: new NodeRing(), count: 0 }));
      this.#classOf(shape).add(shape);
      this.#rankings.clear();
    }
    shape.count += 1;
    this.#shapeOf.set(id, shape);
    if (isFree(doc)) shape.free.add(id);
  }

  #remove({ id, doc }: StoredNode): void {
    const shape = this.#shapeOf.get(id) as Shape;
    this.#shapeOf.delete(id);
    shape.count -= 1;
    if (isFree(doc)) shape.free.delete(id);
    if (shape.count > 0) return;
    this.#shapes.delete(shape.key);
    this.#rankings.clear();
    const alike = this.#classOf(shape);
    alike.delete(shape);
    if (alike.size === 0) this.#byClass.delete(shape.hardware.resourceClass);
  }

  #classOf({ hardware: { resourceClass } }: Shape): Set<Shape> {
    let shapes = this.#byClass.get(resourceClass);
    if (shapes === undefined) this.#byClass.set(resourceClass, (shapes = new Set()));
    return shapes;
  }

  get shapes(): Iterable<Shape> {
    return this.#shapes.values();
  }

  /** What a node is made of. */
  hardwareOf({ id, doc }: StoredNode): Hardware {
    return this.#shapeOf.get(id)?.hardware ?? hardwareOf(doc);
  }

  rank(wanted: Requirements): Ranking {
    const key = requirementsKey(wanted);
    const known = this.#rankings.get(key);
    if (known !== undefined) return known;
    const { resourceClass } = wanted;
    const among = resourceClass === undefined ? this.#shapes.values() : (this.#byClass.get(resourceClass) ?? []);
    const made = rankShapes(among, wanted);
    if (this.#rankings.size >= RANKINGS_MAX) this.#rankings.delete(this.#rankings.keys().next().value as string);
    this.#rankings.set(key, made);
    return made;
  }
}

function omitRemoved(stored: Stored | undefined): StoredNode | undefined {
  return stored === undefined || (stored.doc as Node).state === 'removed' ? undefined : (stored as StoredNode);
}

/** Whether a request may have it: what counts as free is what is offered. */
export function isFree(node: Node): boolean {
  return bucketOf(node) === 'free';
}

function rankShapes(shapes: Iterable<Shape>, wanted: Requirements): Ranking {
  const ranked: { readonly shape: Shape; readonly surplus: Surplus }[] = [];
  for (const shape of shapes) {
    if (!isInSite(wanted, shape.hardware) || findMismatch(wanted, shape.hardware) !== undefined) continue;
    ranked.push({ shape, surplus: surplusHardwareOf(wanted, shape.hardware) });
  }
  ranked.sort((one, other) => compareSurplus(one.surplus, other.surplus));
  const ranks: Shape[][] = [];
  for (const [nth, { shape, surplus }] of ranked.entries()) {
    const before = ranked[nth - 1];
    if (before !== undefined && compareSurplus(before.surplus, surplus) === 0) ranks.at(-1)?.push(shape);
    else ranks.push([shape]);
  }
  return ranks;
}

/** What is elsewhere does not exist for a request that is bound to a site. */
export function isInSite({ site }: Requirements, hardware: Pick<Hardware, 'site'>): boolean {
  return site === undefined || hardware.site === site;
}

export const NODE_INDEX: Projection<NodeIndex> = {
  name: 'node-index',
  kinds: [NODE.name],
  create: () => new NodeIndex(),
};

export function nodeIndexOf(fleet: FleetReader): NodeIndex {
  return fleet.projection(NODE_INDEX);
}
