// Hands out views by long poll: each agent gets its own as soon as it differs from the one that it has, in the words that it knows, and signed. It also
// says whether a host has converged on its view. It sends nothing that was composed for another caller than the one who is admitted now.
import { findHost } from '../../hosts/index.ts';
import type { Clock, Journal } from '../../journal/index.ts';
import type { Reply } from '../../link/index.ts';
import type { Log } from '../../operations/index.ts';
import { VIEW_WAIT_MAX_MS, type View, type ViewRequest, type ViewResponse } from '../protocol/messages.ts';
import type { AgentIdentity } from './admission.ts';
import type { AgentReports } from './agent-reports.ts';
import { isOutdated } from './compose-view.ts';
import type { LongPollWaiters } from './long-poll-waiters.ts';
import type { StatementIssuer } from './statement-issuer.ts';
import type { ViewComposer } from './view-composer.ts';

export interface ViewDeliveryParts {
  readonly journal: Pick<Journal, 'fleet' | 'fence'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly views: ViewComposer;
  readonly waiters: LongPollWaiters;
  readonly statements: StatementIssuer;
  readonly reports: AgentReports;
  /** The answer to an agent that this server cannot serve. */
  readonly denialOf: (identity: AgentIdentity) => Reply<never> | undefined;
  /** The answer of a server without the lease. */
  readonly redirect: () => Reply<never>;
}

export class ViewDelivery {
  readonly #parts: ViewDeliveryParts;
  /** The view that was last sent to each host. */
  readonly #sent = new Map<string, Pick<View, 'digest' | 'stamp'>>();

  constructor(parts: ViewDeliveryParts) {
    this.#parts = parts;
  }

  /** Of the view that a host was sent last; 0 before the first one. */
  sentRevisionOf(host: string): number {
    return this.#sent.get(host)?.stamp.revision ?? 0;
  }

  forget(host: string): void {
    this.#sent.delete(host);
  }

  clear(): void {
    this.#sent.clear();
  }

  /** Whether a host has applied a view that was composed at or after a revision, or an equal one. */
  hasConverged(host: string, revision: number, serviceVersion: number): boolean {
    const { journal, views, reports, log } = this.#parts;
    const applied = reports.get(host)?.applied;
    if (applied === undefined) return false;
    if ((findHost(journal.fleet, host)?.doc.serviceVersion ?? 0) < serviceVersion) return false;
    const holds = views.isValidAt(host, applied, revision);
    if (holds !== undefined || journal.fleet.revision < revision) return holds ?? false;
    const view = views.compose(host);
    if (!(view instanceof Promise)) return view?.digest === applied;
    // A view as large as the fleet takes a while: whoever waits for the host is notified when it is there.
    view.then(
      () => reports.announceConvergence(host),
      (err: unknown) => log.error({ err, host }, 'the view of a host could not be composed'),
    );
    return false;
  }

  /** The view, as soon as it differs from the one that the agent has. */
  async deliver(identity: AgentIdentity, request: ViewRequest): Promise<Reply<ViewResponse>> {
    const { clock, views, waiters, denialOf, redirect } = this.#parts;
    const untilMs = clock.nowMs() + Math.min(request.waitMs ?? VIEW_WAIT_MAX_MS, VIEW_WAIT_MAX_MS);
    for (;;) {
      const denial = denialOf(identity);
      if (denial !== undefined) return denial;
      views.setWords(identity.host, request.words ?? 'former');
      // An agent that has another view than the last one sent did not receive that one: it must not count as applying it.
      const { digest = request.digest } = this.#sent.get(identity.host) ?? {};
      if (digest !== request.digest || !this.#hasCurrentView(identity.host, request)) {
        const composed = views.compose(identity.host);
        const view = composed instanceof Promise ? await composed : composed;
        const late = composed instanceof Promise ? denialOf(identity) : undefined;
        if (late !== undefined) return late;
        if (view === undefined) return redirect();
        if (isOutdated(request, view) || digest !== request.digest) return this.#send(view, identity);
      }
      if (clock.nowMs() >= untilMs) return this.#replyUnchanged();
      if ((await waiters.wait(identity.host, untilMs)) === 'expired') return this.#replyUnchanged();
    }
  }

  /** The agent has the view that would be composed: the case of nearly every poll. */
  #hasCurrentView(host: string, { digest, leaseEpoch }: ViewRequest): boolean {
    const { journal, views } = this.#parts;
    if (digest === undefined || leaseEpoch !== journal.fence?.epoch) return false;
    return views.isCurrent(host, digest);
  }

  /** From here on it is applying this view. */
  #send(view: View, { token }: AgentIdentity): Reply<ViewResponse> {
    const { reports, statements } = this.#parts;
    this.#sent.set(view.host, { digest: view.digest, stamp: view.stamp });
    reports.clearAppliedExcept(view.host, view.digest);
    return { kind: 'answer', answer: statements.viewResponse(view, token) };
  }

  #replyUnchanged(): Reply<ViewResponse> {
    return { kind: 'answer', answer: this.#parts.statements.unchangedResponse() };
  }
}
