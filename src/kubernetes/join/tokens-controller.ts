// Revokes the bootstrap tokens of operations that do not join anything any more: ended, failed or cancelled, also when the server was not there at that moment. That a
// token is not to be used is committed before it is revoked: a retry makes it again, and never continues with one that is being revoked.
import { put, type FleetReader } from '../../fleet/index.ts';
import {
  accept,
  isJournalAway,
  LeaseHolderLoop,
  type Clock,
  type Decision,
  type Journal,
  type Log,
} from '../../journal/index.ts';
import { OPERATION } from '../../operations/index.ts';
import { ClusterRefused, ClusterUnreachable } from '../cluster-api/cluster-api.ts';
import type { ClusterApis } from '../drain/nodes-driver.ts';
import { joinsToRevoke, WORKER_JOIN, type StoredJoin, type WorkerJoin } from './model.ts';

export interface TokensOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
  readonly apis: ClusterApis;
}

const BY = 'join-tokens';
const RETRY_MS = 5000;
/** Longer than a request whose caller has timed out takes to arrive. */
const LATE_REQUEST_MS = 60_000;
/** Only a bound: a commit ends the sleep before. */
const IDLE_MS = 60_000;

export class TokensController {
  readonly #options: TokensOptions;
  readonly #loop: LeaseHolderLoop;

  constructor(options: TokensOptions) {
    this.#options = options;
    this.#loop = new LeaseHolderLoop({
      ...options,
      name: 'join-tokens',
      reconcile: () => this.reconcile(),
      intervalMs: () => (joinsToRevoke(options.journal.fleet).length > 0 ? RETRY_MS : IDLE_MS),
      isSilent: true,
      subscribe: () =>
        options.journal.onCommit(({ applied }) => {
          const isEnd = applied.some(({ kind }) => kind === OPERATION.name);
          if (isEnd && joinsToRevoke(options.journal.fleet).length > 0) this.#loop.wake();
        }),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#loop.run(signal);
  }

  async reconcile(): Promise<void> {
    const joins = joinsToRevoke(this.#options.journal.fleet);
    await Promise.all(joins.map((join) => this.#revoke(join)));
  }

  async #revoke({ id, doc }: StoredJoin): Promise<void> {
    const { log, apis } = this.#options;
    try {
      await this.#beginRevocation(id);
      const api = apis.apiOf(doc.cluster);
      // A cluster that was forgotten keeps it until it expires.
      if (api !== undefined && 'reason' in api) return;
      await api?.revokeBootstrapToken(doc.token.id, { signal: new AbortController().signal });
      await this.#finishRevocation(id);
    } catch (error) {
      if (isJournalAway(error)) return;
      if (!(error instanceof ClusterUnreachable) && !(error instanceof ClusterRefused)) throw error;
      log.warn({ operation: id, cluster: doc.cluster, code: error.code }, 'a bootstrap token is not revoked yet');
    }
  }

  async #beginRevocation(id: StoredJoin['id']): Promise<void> {
    await this.#commit(id, ({ expiresAtMs: _, ...token }, nowMs) => {
      if (token.state === 'revoking') return undefined;
      const isUncertain = token.state === 'making';
      return { ...token, state: 'revoking', ...(isUncertain && { mayArriveUntilMs: nowMs + LATE_REQUEST_MS }) };
    });
  }

  /** Not while a request for it may still arrive: it is revoked again then. */
  async #finishRevocation(id: StoredJoin['id']): Promise<void> {
    await this.#commit(id, ({ mayArriveUntilMs = 0, ...token }, nowMs) =>
      token.state === 'revoking' && nowMs >= mayArriveUntilMs ? { ...token, state: 'revoked' } : undefined,
    );
  }

  async #commit(
    id: StoredJoin['id'],
    change: (token: WorkerJoin['token'], nowMs: number) => WorkerJoin['token'] | undefined,
  ): Promise<void> {
    const { journal, clock } = this.#options;
    const nowMs = clock.nowMs();
    const decide = (fleet: FleetReader): Decision<null> => {
      const join = joinsToRevoke(fleet).find((one) => one.id === id);
      const token = join === undefined ? undefined : change(join.doc.token, nowMs);
      if (join === undefined || token === undefined) return accept([], null);
      return accept([put(WORKER_JOIN, id, { ...join.doc, token, changedBy: BY, changedAtMs: nowMs })], null);
    };
    await journal.submit({ by: BY, decide });
  }
}
