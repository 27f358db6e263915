// Who is heard by heartbeats, as the database of the switch tells it. Looked up once for each change: whoever compiles asks for one
// peer after the other.
import type { Monitor } from './ovsdb/monitor.ts';
import { readBfdSessions, type BfdSession } from './bridge.ts';

export interface BfdStatusChange {
  /** Somebody is heard no more, or again. */
  readonly hasChanged: boolean;
  /** Somebody is heard for the first time: from then on he is watched. */
  readonly hasFirstUp: boolean;
}

export class BfdStatus {
  readonly #bridge: string;
  #sessions: readonly BfdSession[] = [];

  constructor(bridge: string) {
    this.#bridge = bridge;
  }

  update(tables: Pick<Monitor, 'table'>): BfdStatusChange {
    const before = this.#snapshot();
    this.#sessions = readBfdSessions(tables, this.#bridge);
    const [unheard, known] = this.#snapshot();
    return { hasChanged: unheard !== before[0], hasFirstUp: known !== before[1] };
  }

  hasBeenUp(peer: string): boolean {
    return this.#sessions.some((one) => one.peer === peer && one.hasBeenUp);
  }

  /** Undefined when nobody is listened for. */
  downPeers(): readonly string[] | undefined {
    if (this.#sessions.length === 0) return undefined;
    return this.#sessions.flatMap(({ peer, hasBeenUp, isUp }) => (hasBeenUp && !isUp ? [peer] : []));
  }

  #snapshot(): readonly [string, string] {
    const known = this.#sessions.filter(({ hasBeenUp }) => hasBeenUp).map(({ peer }) => peer);
    return [this.downPeers()?.join() ?? '', known.join()];
  }
}
