// Prometheus metrics. Counts follow the journal commit by commit: a scrape never walks the fleet.
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { DocumentMetric } from '../composition/index.ts';
import type { AnyDoc, AppliedChange } from '../fleet/index.ts';
import type { Clock, Journal } from '../journal/index.ts';
import { CLOSE_REASONS, type CloseReason } from './limits/close-reasons.ts';
import { RequestHistogram } from './request-histogram.ts';

const LATENCY_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const GROUP_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

export class Metrics {
  readonly registry = new Registry();
  readonly requests = new RequestHistogram();
  readonly #heartbeats: Counter;
  readonly #rateLimited: Counter;
  readonly #storeUp: Gauge;
  readonly #holderKnown: Gauge;
  readonly #integrity: Counter;
  readonly #refused: Counter<'method' | 'route' | 'code'>;
  readonly #refusalsLost: Counter;
  readonly #connectionsClosed: Counter<'reason'>;

  constructor() {
    const registers = [this.registry];
    collectDefaultMetrics({ register: this.registry });
    this.#heartbeats = new Counter({
      name: 'muster_heartbeats_total',
      help: 'Heartbeats taken from agents',
      registers,
    });
    this.#rateLimited = new Counter({
      name: 'muster_rate_limited_total',
      help: 'Requests refused for coming too fast',
      registers,
    });
    this.#integrity = new Counter({
      name: 'muster_integrity_findings_total',
      help: 'Lost history, damage and jumps of the clock that this server noticed, by the code of the alarm',
      labelNames: ['code'],
      registers,
    });
    this.#storeUp = new Gauge({
      name: 'muster_store_up',
      help: 'Whether the store answered this server at the time of the scrape',
      registers,
    });
    this.#holderKnown = new Gauge({
      name: 'muster_lease_known',
      help: 'Whether some server held the deciding lease at the time of the scrape, as this server sees it',
      registers,
    });
    this.#refused = new Counter({
      name: 'muster_requests_refused_total',
      help: 'Requests refused (4xx), by route and code of the problem',
      labelNames: ['method', 'route', 'code'],
      registers,
    });
    this.#connectionsClosed = new Counter({
      name: 'muster_connections_closed_total',
      help: 'Connections closed by a limit, by the limit',
      labelNames: ['reason'],
      registers,
    });
    // There from the start: a first rise from nothing would be no rate.
    for (const reason of CLOSE_REASONS) this.#connectionsClosed.inc({ reason }, 0);
    this.#refusalsLost = new Counter({
      name: 'muster_refusals_lost_total',
      help: 'Lines of refusals that could not be kept for the audit',
      registers,
    });
  }

  countHeartbeat(): void {
    this.#heartbeats.inc();
  }

  countIntegrityFinding(code: string): void {
    this.#integrity.inc({ code });
  }

  countRateLimited(): void {
    this.#rateLimited.inc();
  }

  setStoreStatus({ isUp, hasHolder }: { readonly isUp: boolean; readonly hasHolder: boolean }): void {
    this.#storeUp.set(isUp ? 1 : 0);
    this.#holderKnown.set(hasHolder ? 1 : 0);
  }

  countRefusal(labels: { readonly method: string; readonly route: string; readonly code: string }): void {
    this.#refused.inc(labels);
  }

  countClosedConnection(reason: CloseReason): void {
    this.#connectionsClosed.inc({ reason });
  }

  countLostRefusals(lines: number): void {
    this.#refusalsLost.inc(lines);
  }

  async text(): Promise<string> {
    return `${await this.registry.metrics()}\n${this.requests.text()}`;
  }

  /** Follows a journal: its revision, its groups, its lease, and the documents that metrics count. */
  follow(journal: Journal, clock: Clock, counted: readonly DocumentMetric<never>[]): () => void {
    this.#gauge('muster_journal_revision', 'The newest revision this server shows', () => journal.fleet.revision);
    const epoch = 'The epoch of the deciding lease while this server holds it, else 0';
    this.#gauge('muster_lease_epoch', epoch, () => journal.fence?.epoch ?? 0);
    this.#gauge('muster_lease_held', 'Whether this server decides', () => (journal.fence === undefined ? 0 : 1));
    const stopGroups = this.#followGroups(journal, clock);
    const stops = counted.map((metric) => this.#followDocuments(journal, metric as unknown as DocumentMetric));
    return () => [stopGroups, ...stops].forEach((stop) => stop());
  }

  /** A figure that is read when it is scraped. */
  #gauge(name: string, help: string, read: () => number): void {
    const collect = function collect(this: Gauge): void {
      this.set(read());
    };
    this.registry.registerMetric(new Gauge({ name, help, registers: [], collect }));
  }

  #followGroups(journal: Journal, clock: Clock): () => void {
    const registers = [this.registry];
    const sizes = new Histogram({
      name: 'muster_journal_group_commits',
      help: 'Commits written together',
      buckets: GROUP_BUCKETS,
      registers,
    });
    const latency = new Histogram({
      name: 'muster_journal_commit_seconds',
      help: 'From asking to durable, for commits decided here',
      buckets: LATENCY_BUCKETS,
      registers,
    });
    let group = 0;
    // A group is announced in one go: what was counted when the queue of microtasks comes to this is its size.
    const close = (): void => {
      sizes.observe(group);
      group = 0;
    };
    return journal.onCommit(({ commit }) => {
      if (group === 0) queueMicrotask(close);
      group += 1;
      if (journal.fence !== undefined) latency.observe(Math.max(0, clock.nowMs() - commit.atMs) / 1000);
    });
  }

  #followDocuments(journal: Journal, { name, help, kind, labels, labelsOf }: DocumentMetric): () => void {
    const counts = new Map<string, { readonly values: readonly string[]; count: number }>();
    const add = (doc: AnyDoc | undefined, by: number): void => {
      if (doc === undefined) return;
      const values = labelsOf(doc);
      const key = values.join('\n');
      const known = counts.get(key);
      if (known === undefined) counts.set(key, { values, count: by });
      else known.count += by;
    };
    const start = (): void => {
      counts.clear();
      for (const { doc } of journal.fleet.all(kind)) add(doc, 1);
    };
    start();
    const gauge = new Gauge({
      name,
      help,
      labelNames: [...labels],
      registers: [],
      collect(): void {
        this.reset();
        for (const { values, count } of counts.values()) {
          this.set(Object.fromEntries(labels.map((label, at) => [label, values[at] ?? ''])), count);
        }
      },
    });
    this.registry.registerMetric(gauge);
    const change = ({ before, after }: AppliedChange): void => {
      add(before?.doc, -1);
      add(after?.doc, 1);
    };
    const stopCommits = journal.onCommit(({ applied }) =>
      applied.forEach((one) => one.kind === kind.name && change(one)),
    );
    const stopRebuilt = journal.onRebuilt(start);
    return () => [stopCommits, stopRebuilt].forEach((stop) => stop());
  }
}
