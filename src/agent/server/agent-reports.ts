// What agents have reported last: on which view their hosts have converged, which services are not ready there, and with which peers BFD is down. In
// memory only: the next holder requests it again.
import type { PeerBfdStatus } from '../../election/index.ts';
import type { FleetReader } from '../../fleet/index.ts';
import { findHost } from '../../hosts/index.ts';
import type { HostReport } from '../protocol/messages.ts';
import { BfdDownIndex } from './bfd-down-index.ts';
import type { Convergence } from './convergence.ts';
import type { HeartbeatBaseline } from './heartbeat-dedup.ts';

/** The last report of a host's agent. */
export interface AgentReport extends Convergence {
  readonly report?: HostReport | undefined;
  readonly baseline?: HeartbeatBaseline | undefined;
}

export class AgentReports {
  readonly #fleet: FleetReader;
  readonly #byHost = new Map<string, AgentReport>();
  readonly #bfdDown = new BfdDownIndex();
  readonly #convergenceListeners = new Set<(host: string) => void>();

  constructor(fleet: FleetReader) {
    this.#fleet = fleet;
  }

  get(host: string): AgentReport | undefined {
    return this.#byHost.get(host);
  }

  record(host: string, next: AgentReport): void {
    const before = this.#byHost.get(host);
    this.#byHost.set(host, next);
    if (before?.report !== next.report) this.#bfdDown.update(host, next.report?.bfdDownPeers ?? []);
    if (before?.applied !== next.applied || before?.unready !== next.unready) this.announceConvergence(host);
  }

  /** The host was sent this view: what it reported as applied before says nothing about it. */
  clearAppliedExcept(host: string, digest: string): void {
    const report = this.#byHost.get(host);
    if (report?.applied === undefined || report.applied === digest) return;
    this.#byHost.set(host, { ...report, applied: undefined, baseline: undefined });
  }

  forget(host: string): void {
    this.#byHost.delete(host);
    this.#bfdDown.update(host, []);
  }

  clear(): void {
    this.#byHost.clear();
    this.#bfdDown.clear();
  }

  /** The BFD state between an observing agent and another host. */
  bfdStatus(listener: string, host: string): PeerBfdStatus {
    // The report of an agent that is silent itself is out of date.
    const isUp = findHost(this.#fleet, listener)?.doc.connection.state === 'up';
    const bfdDownPeers = this.#byHost.get(listener)?.report?.bfdDownPeers;
    if (!isUp || bfdDownPeers === undefined) return undefined;
    return bfdDownPeers.includes(host) ? 'down' : 'up';
  }

  countBfdDown(host: string): number {
    return this.#bfdDown.countDown(host);
  }

  /** Calls at once when BFD to a host goes down or up at some observer. */
  onBfdChange(listener: (host: string) => void): () => void {
    return this.#bfdDown.onChange(listener);
  }

  /** Why a converged host cannot provide a service yet; undefined when it can. */
  unreadinessOf(host: string, service: string): string | undefined {
    return this.#byHost.get(host)?.unready?.get(service);
  }

  /** Calls whenever a host has converged on another view than before. */
  onConvergence(listener: (host: string) => void): () => void {
    this.#convergenceListeners.add(listener);
    return () => this.#convergenceListeners.delete(listener);
  }

  announceConvergence(host: string): void {
    for (const listener of this.#convergenceListeners) listener(host);
  }
}
