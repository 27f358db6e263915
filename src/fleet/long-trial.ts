// A trial that lasts longer than one turn of the event loop, for plans that are made in slices. What it adds is shown by projections of
// its own, forked when they are first used: the fleet's never see it, so that decisions between two slices find them as they
// are. Documents that it does not change itself are those of the newest fleet, slice after slice.
import type { Change } from './document.ts';
import type { FleetReader } from './reader.ts';
import type { AppliedChange, Forkable, ProjectionState, Projection } from './registry.ts';
import { Overlay, type StageBase } from './stage.ts';

export class LongTrial extends Overlay {
  readonly #kinds: readonly string[];
  readonly #forks = new Map<ProjectionState, Forkable>();

  /** Only documents of these kinds can be added. */
  constructor(fleet: FleetReader, kinds: readonly string[]) {
    super(fleet as StageBase);
    this.#kinds = kinds;
  }

  /** What the next slice is made on: the fleet has gone on meanwhile. */
  rebase(fleet: FleetReader): void {
    this.base = fleet as StageBase;
  }

  /** What was planned on it means nothing any more: forks share something that is another now, or the fleet was loaded anew. */
  get isOutdated(): boolean {
    if (this.#forks.size === 0) return false;
    const live = new Set(this.#kinds.flatMap((kind) => this.base.projectionsOf(kind)));
    for (const [one, fork] of this.#forks) if (fork.isOutdated === true || !live.has(one)) return true;
    return false;
  }

  override add(changes: readonly Change[]): readonly AppliedChange[] {
    const other = changes.find(({ kind }) => !this.#kinds.includes(kind));
    if (other !== undefined) throw new Error(`a long trial of ${this.#kinds.join(', ')} cannot show a ${other.kind}`);
    return super.add(changes);
  }

  override projection<P extends ProjectionState>(projection: Projection<P>): P {
    const live = this.base.projection(projection);
    const fork = this.#forks.get(live);
    if (fork !== undefined) return fork as unknown as P;
    if (!isForkable(live) || !projection.kinds.some((kind) => this.#kinds.includes(kind))) return live;
    return this.#fork(live, projection) as unknown as P;
  }

  #fork(live: Forkable, { kinds }: Projection): Forkable {
    const fork = live.fork();
    this.#forks.set(live, fork);
    for (const commit of this.commits) {
      for (const applied of commit) if (kinds.includes(applied.kind)) fork.apply(applied);
    }
    return fork;
  }

  /** Projections that were not used yet get the changes when they are forked; those that cannot be forked show the fleet's. */
  override projectionsOf(kind: string): readonly ProjectionState[] {
    return this.base.projectionsOf(kind).flatMap((one) => this.#forks.get(one) ?? []);
  }
}

function isForkable<P extends ProjectionState>(one: P): one is P & Forkable {
  return 'fork' in one;
}
