// Flows by where they are: a table, a priority and a match. Looked up by the match alone, since hardly two flows have the same one:
// a text for each place would cost more than all else that is done with it.
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

  /** What is there, and is not any more. */
  take({ table, priority, match }: Place): Flow | undefined {
    const same = this.#byMatch.get(match);
    const at = same?.findIndex((flow) => flow.table === table && flow.priority === priority) ?? -1;
    return at < 0 ? undefined : same?.splice(at, 1)[0];
  }

  /** What was not taken. */
  *remaining(): Iterable<Flow> {
    for (const same of this.#byMatch.values()) yield* same;
  }
}
