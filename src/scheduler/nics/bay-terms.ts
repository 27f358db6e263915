// The score term of a request's single NIC, by bay: the hosts of a bay reach the same pools. A placement changes the stock of one pool, so for the next
// request only the bays that reach it are computed.
import type { ReachCluster, Clusters, NetworkReach } from '../host-index/clusters.ts';

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
  /** By choice: the clusters whose hosts reach it. */
  #reaching: ReachCluster[][] = [];
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

  /** By bay; -Infinity where no host can place the NIC, or no cluster has the bay. Valid until the next change. */
  compute(clusters: Clusters, request: BayTermSource): Float64Array {
    if (this.#layout !== clusters.layout) this.#rebuildLayout(clusters, request);
    if (this.#isAllChanged) for (const cluster of clusters.list()) this.#set(cluster, request);
    else {
      for (const choice of this.#changed) {
        for (const cluster of this.#reaching[choice] ?? NO_CLUSTERS) this.#set(cluster, request);
      }
    }
    this.#isAllChanged = false;
    this.#changed.length = 0;
    return this.#terms;
  }

  #rebuildLayout(clusters: Clusters, request: BayTermSource): void {
    this.#layout = clusters.layout;
    this.#isAllChanged = true;
    this.#terms = new Float64Array(clusters.bays).fill(-Infinity);
    this.#reaching = [];
    for (const cluster of clusters.list()) {
      if (cluster.reach === undefined) continue;
      for (const choice of request.choicesOn(cluster.reach)) {
        while (this.#reaching.length <= choice) this.#reaching.push([]);
        (this.#reaching[choice] as ReachCluster[]).push(cluster);
      }
    }
  }

  #set({ reach, bays }: ReachCluster, request: BayTermSource): void {
    const term = reach === undefined ? request.termMax : request.termOn(reach);
    for (let at = 0; at < bays.length; at += 1) this.#terms[bays[at] as number] = term;
  }
}

const NO_CLUSTERS: readonly ReachCluster[] = [];
