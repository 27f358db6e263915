// The score term of a request's single NIC, by bay: the hosts of a bay reach the same pools. A placement changes the stock of one pool, so for the next
// request only the bays that reach it are computed.
import type { BayGroup, BayGroups, NetworkReach } from '../host-index/bay-groups.ts';

/** The queries about bays. */
export interface BayTermSource {
  /** -Infinity where hosts with this reach cannot place the NIC. */
  termOn(reach: NetworkReach): number;
  /** No place adds more. */
  readonly termMax: number;
  /** The choices of the NIC on hosts with this reach. */
  choicesOn(reach: NetworkReach): readonly number[];
}

/** With this many changes everything is computed again. */
const CHANGES_MAX = 256;

export class BayTerms {
  #terms = new Float64Array(0);
  #layout: number | undefined;
  /** By choice: the bay groups whose hosts reach it. */
  #reaching: BayGroup[][] = [];
  /** The choices whose stock changed since the last call. */
  readonly #changed: number[] = [];
  #isAllChanged = true;

  markChoiceChanged(choice: number): void {
    if (this.#changed.length < CHANGES_MAX) this.#changed.push(choice);
    else this.#isAllChanged = true;
  }

  markAllChanged(): void {
    this.#isAllChanged = true;
  }

  /** By bay; -Infinity where no host can place the NIC, or no bay group has the bay. Valid until the next change. */
  compute(bayGroups: BayGroups, request: BayTermSource): Float64Array {
    if (this.#layout !== bayGroups.layout) this.#rebuildLayout(bayGroups, request);
    if (this.#isAllChanged) for (const bayGroup of bayGroups.list()) this.#set(bayGroup, request);
    else {
      for (const choice of this.#changed) {
        for (const bayGroup of this.#reaching[choice] ?? NO_BAY_GROUPS) this.#set(bayGroup, request);
      }
    }
    this.#isAllChanged = false;
    this.#changed.length = 0;
    return this.#terms;
  }

  #rebuildLayout(bayGroups: BayGroups, request: BayTermSource): void {
    this.#layout = bayGroups.layout;
    this.#isAllChanged = true;
    this.#terms = new Float64Array(bayGroups.bays).fill(-Infinity);
    this.#reaching = [];
    for (const bayGroup of bayGroups.list()) {
      if (bayGroup.reach === undefined) continue;
      for (const choice of request.choicesOn(bayGroup.reach)) {
        while (this.#reaching.length <= choice) this.#reaching.push([]);
        (this.#reaching[choice] as BayGroup[]).push(bayGroup);
      }
    }
  }

  #set({ reach, bays }: BayGroup, request: BayTermSource): void {
    const term = reach === undefined ? request.termMax : request.termOn(reach);
    for (let at = 0; at < bays.length; at += 1) this.#terms[bays[at] as number] = term;
  }
}

const NO_BAY_GROUPS: readonly BayGroup[] = [];
