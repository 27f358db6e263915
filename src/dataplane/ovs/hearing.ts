// Who is heard by heartbeats, as the database of the switch tells it. Looked up once for each change: whoever compiles asks for one
// peer after the other.
import type { Monitor } from '../ovsdb/monitor.ts';
import { listeningIn, type Listening } from './bridge.ts';

export interface HeardAnew {
  /** Somebody is heard no more, or again. */
  readonly isNews: boolean;
  /** Somebody is heard for the first time: from then on he is watched. */
  readonly isFirst: boolean;
}

export class Hearing {
  readonly #bridge: string;
  #listening: readonly Listening[] = [];

  constructor(bridge: string) {
    this.#bridge = bridge;
  }

  changed(tables: Pick<Monitor, 'table'>): HeardAnew {
    const before = this.#told();
    this.#listening = listeningIn(tables, this.#bridge);
    const [unheard, known] = this.#told();
    return { isNews: unheard !== before[0], isFirst: known !== before[1] };
  }

  hasHeard(peer: string): boolean {
    return this.#listening.some((one) => one.peer === peer && one.hasHeard);
  }

  /** Undefined when nobody is listened for. */
  unheard(): readonly string[] | undefined {
    if (this.#listening.length === 0) return undefined;
    return this.#listening.flatMap(({ peer, hasHeard, hears }) => (hasHeard && !hears ? [peer] : []));
  }

  #told(): readonly [string, string] {
    const known = this.#listening.filter(({ hasHeard }) => hasHeard).map(({ peer }) => peer);
    return [this.unheard()?.join() ?? '', known.join()];
  }
}
