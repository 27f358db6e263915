// The BFD state of peers, from the monitored database of the switch. Indexed once per change: a compilation reads one peer after the
// other. It never decides what a down session means.
import type { Monitor } from './ovsdb/monitor.ts';
import { readBfdSessions, type BfdSession } from './bridge.ts';

export interface BfdStatusChange {
  /** A session went down or came up again. */
  readonly hasChanged: boolean;
  /** A session came up for the first time: from then on its state can be trusted. */
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
    const [down, known] = this.#snapshot();
    return { hasChanged: down !== before[0], hasFirstUp: known !== before[1] };
  }

  hasBeenUp(peer: string): boolean {
    return this.#sessions.some((one) => one.peer === peer && one.hasBeenUp);
  }

  /** Undefined when BFD is configured for no peer. */
  downPeers(): readonly string[] | undefined {
    if (this.#sessions.length === 0) return undefined;
    return this.#sessions.flatMap(({ peer, hasBeenUp, isUp }) => (hasBeenUp && !isUp ? [peer] : []));
  }

  #snapshot(): readonly [string, string] {
    const known = this.#sessions.filter(({ hasBeenUp }) => hasBeenUp).map(({ peer }) => peer);
    return [this.downPeers()?.join() ?? '', known.join()];
  }
}
