// Flows indexed by table, priority and match. The key is the match alone, since hardly two flows share one: building a text for each place
// would cost more than everything else here.
import type { Flow } from './switch.ts';

type Place = Pick<Flow, 'table' | 'priority' | 'match'>;

export class FlowIndex {
  readonly #byMatch = new Map<string, Flow[]>();

  constructor(flows: readonly Flow[]) {
    for (const flow of flows) {
      const same = this.#byMatch.get(flow.match);
      if (same === undefined) this.#byMatch.set(flow.match, [flow]);
      else same.push(flow);
    }
  }

  /** Takes the flow at this place out of the index; undefined when there is none. */
  take({ table, priority, match }: Place): Flow | undefined {
    const same = this.#byMatch.get(match);
    const at = same?.findIndex((flow) => flow.table === table && flow.priority === priority) ?? -1;
    return at < 0 ? undefined : same?.splice(at, 1)[0];
  }

  /** The flows that were not taken out. */
  *listRemainingFlows(): Iterable<Flow> {
    for (const same of this.#byMatch.values()) yield* same;
  }
}
