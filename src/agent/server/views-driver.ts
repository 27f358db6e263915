// The driver `views`: waits for a moment until hosts have converged on what was committed, or are ready for one service of it, and reports
// which are behind and why. It changes nothing; the hosts to wait for are chosen anew each time.
import type { IsBfdDownByMajority } from '../../election/index.ts';
import type { Reason } from '../../fleet/index.ts';
import type { Clock, Journal } from '../../journal/index.ts';
import type { Action, ActionFence, ActionOutcome, Driver } from '../../operations/index.ts';

/** What it needs of the agent gateway. */
export interface ConvergenceSource {
  /** Whether it applied the state of a revision, with an agent of this service version or a newer one. */
  hasConverged(host: string, revision: number, serviceVersion?: number): boolean;
  readonly reports: {
    /** Why a converged host cannot provide a service yet; undefined when it can. */
    unreadinessOf(host: string, service: string): string | undefined;
    onConvergence(listener: (host: string) => void): () => void;
  };
}

export interface ViewsDriverOptions {
  readonly gateway: ConvergenceSource;
  readonly journal: Pick<Journal, 'fence'>;
  readonly clock: Clock;
  readonly isBfdDownByMajority: IsBfdDownByMajority;
  readonly waitMs?: number;
}

/** Long enough for healthy hosts; afterwards the operation is planned again. */
const WAIT_MS = 2000;
/** Enough to know where to look. */
const NAMED_MAX = 10;

interface ConvergenceWait {
  readonly hosts: readonly string[];
  readonly revision: number;
  /** The service version that their agents need for it to count. */
  readonly serviceVersion?: number;
  /** The service that is waited for. What the hosts lack for others does not count. */
  readonly service?: string;
  /** The target host of the service, and the hosts that could have it instead. */
  readonly target?: string;
  readonly others?: readonly string[];
}

/** It only waits. All handovers that may be active at once fit, and removals of hosts beside them. */
const AT_ONCE_MAX = 512;

function fail(reason: Reason): ActionOutcome {
  return { kind: 'failed', reason };
}

export class ViewsDriver implements Driver {
  readonly maxConcurrent = AT_ONCE_MAX;
  readonly #options: ViewsDriverOptions;

  constructor(options: ViewsDriverOptions) {
    this.#options = options;
  }

  async carryOut({ args }: Action, { leaseEpoch, signal }: ActionFence): Promise<ActionOutcome> {
    const { journal } = this.#options;
    const wait = args as unknown as ConvergenceWait;
    if (journal.fence?.epoch !== leaseEpoch) return { kind: 'stale' };
    const early = this.#findBfdDownTarget(wait);
    if (early !== undefined) return fail(early);
    const behind = await this.#waitForConvergence(wait, signal);
    // Another holder waits for the agents itself.
    if (journal.fence?.epoch !== leaseEpoch) return { kind: 'stale' };
    if (behind.length > 0) return fail(this.#reasonOf(behind, wait));
    const late = this.#findBfdDownTarget(wait);
    return late === undefined ? { kind: 'applied' } : fail(late);
  }

  /** That BFD reports one of them down says nothing about the others. */
  #findBfdDownTarget({ service = '', target, others = [] }: ConvergenceWait): Reason | undefined {
    const { isBfdDownByMajority } = this.#options;
    if (target === undefined || others.length === 0 || !isBfdDownByMajority(target)) return undefined;
    const alternative = others.find((host) => !isBfdDownByMajority(host));
    return alternative === undefined ? undefined : { code: 'target-bfd-down', service, host: target, alternative };
  }

  /**
   * A host that says why it cannot provide the service is more informative than one that has not converged; but its statement may be about
   * an earlier view, and an earlier handover.
   */
  #reasonOf(behind: readonly string[], { service, revision, serviceVersion }: ConvergenceWait): Reason {
    const { gateway } = this.#options;
    const hosts = behind.slice(0, NAMED_MAX);
    const converged = behind.filter((host) => gateway.hasConverged(host, revision, serviceVersion));
    const unready = service === undefined ? undefined : this.#findUnready(converged, service);
    if (service === undefined || unready === undefined) return { code: 'hosts-behind', hosts, inAll: behind.length };
    return { code: 'service-not-ready', service, ...unready, hosts };
  }

  #findUnready(
    hosts: readonly string[],
    service: string,
  ): { readonly host: string; readonly because: string } | undefined {
    for (const host of hosts) {
      const because = this.#options.gateway.reports.unreadinessOf(host, service);
      if (because !== undefined) return { host, because };
    }
    return undefined;
  }

  /** The hosts that are behind after the wait, in the given order. */
  async #waitForConvergence(
    { hosts, revision, serviceVersion, service }: ConvergenceWait,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const { gateway, clock, waitMs = WAIT_MS } = this.#options;
    const hasConverged = (host: string): boolean =>
      gateway.hasConverged(host, revision, serviceVersion) &&
      (service === undefined || gateway.reports.unreadinessOf(host, service) === undefined);
    const behind = new Set(hosts.filter((host) => !hasConverged(host)));
    if (behind.size === 0 || signal.aborted) return [...behind];
    const all = new AbortController();
    const stop = gateway.reports.onConvergence((host) => {
      if (!behind.has(host) || !hasConverged(host)) return;
      behind.delete(host);
      if (behind.size === 0) all.abort('all have converged');
    });
    const endWait = (): void => all.abort(signal.reason);
    signal.addEventListener('abort', endWait, { once: true });
    await clock.sleep(waitMs, all.signal);
    signal.removeEventListener('abort', endWait);
    stop();
    // A host may already have the desired state without a new report.
    return [...behind].filter((host) => !hasConverged(host));
  }
}
