// The driver `views`: waits for a moment until hosts have converged on what was committed, or are ready for one service of it, and
// says who is behind and why. It changes nothing; who is to be waited for is decided anew each time.
import type { Reason } from '../../fleet/index.ts';
import type { Clock, Journal } from '../../journal/index.ts';
import type { Action, ActionFence, ActionOutcome, Driver } from '../../operations/index.ts';

/** What it needs of the desk. */
export interface ConvergenceSource {
  /** Whether it applied what was true at a revision, by an agent of a version or a newer one. */
  hasConverged(host: string, revision: number, serviceVersion?: number): boolean;
  /** Why a host that has converged cannot provide a service yet; undefined when it can. */
  unreadinessOf(host: string, service: string): string | undefined;
  onConvergence(hear: (host: string) => void): () => void;
}

/** Whether most of those that listen for a host do not hear it. */
type IsBfdDownByMajority = (host: string) => boolean;

export interface ViewsDriverOptions {
  readonly gateway: ConvergenceSource;
  readonly journal: Pick<Journal, 'fence'>;
  readonly clock: Clock;
  readonly isBfdDownByMajority: IsBfdDownByMajority;
  readonly waitMs?: number;
}

/** Long enough for hosts that do well; the world is looked at again after it. */
const WAIT_MS = 2000;
/** Enough to know where to look. */
const NAMED_MAX = 10;

interface ConvergenceWait {
  readonly hosts: readonly string[];
  readonly revision: number;
  /** What their agents must know for it to count. */
  readonly serviceVersion?: number;
  /** The service that is waited for. What the hosts lack for others does not count. */
  readonly service?: string;
  /** The host that the service is about to be given to, and who could have it instead. */
  readonly target?: string;
  readonly others?: readonly string[];
}

/** It only listens. All the hand-overs that may be under way at once find room, and hosts that are removed beside them. */
const AT_ONCE_MAX = 512;

function fail(reason: Reason): ActionOutcome {
  return { kind: 'failed', retryable: true, reason };
}

export class ViewsDriver implements Driver {
  readonly maxConcurrent = AT_ONCE_MAX;
  readonly #options: ViewsDriverOptions;

  constructor(options: ViewsDriverOptions) {
    this.#options = options;
  }

  async carryOut({ args }: Action, { leaseEpoch }: ActionFence): Promise<ActionOutcome> {
    const { journal } = this.#options;
    const asked = args as unknown as ConvergenceWait;
    if (journal.fence?.epoch !== leaseEpoch) return { kind: 'stale' };
    const early = this.#findBfdDownTarget(asked);
    if (early !== undefined) return fail(early);
    const behind = await this.#waitForConvergence(asked);
    // Another holder asks its own agents.
    if (journal.fence?.epoch !== leaseEpoch) return { kind: 'stale' };
    if (behind.length > 0) return fail(this.#reasonOf(behind, asked));
    const late = this.#findBfdDownTarget(asked);
    return late === undefined ? { kind: 'applied' } : fail(late);
  }

  /** That nobody hears any of them says nothing for the others. */
  #findBfdDownTarget({ service = '', target, others = [] }: ConvergenceWait): Reason | undefined {
    const { isBfdDownByMajority } = this.#options;
    if (target === undefined || others.length === 0 || !isBfdDownByMajority(target)) return undefined;
    const heard = others.find((host) => !isBfdDownByMajority(host));
    return heard === undefined ? undefined : { code: 'target-bfd-down', service, host: target, alternative: heard };
  }

  /**
   * A host that says why it cannot provide the service tells more than one that has not converged; but what one of these said is of an
   * earlier view, and of an earlier hand-over perhaps.
   */
  #reasonOf(behind: readonly string[], { service, revision, serviceVersion }: ConvergenceWait): Reason {
    const { gateway } = this.#options;
    const hosts = behind.slice(0, NAMED_MAX);
    const converged = behind.filter((host) => gateway.hasConverged(host, revision, serviceVersion));
    const told = service === undefined ? undefined : this.#findUnready(converged, service);
    if (service === undefined || told === undefined) return { code: 'hosts-behind', hosts, inAll: behind.length };
    return { code: 'service-not-ready', service, ...told, hosts };
  }

  #findUnready(
    hosts: readonly string[],
    service: string,
  ): { readonly host: string; readonly because: string } | undefined {
    for (const host of hosts) {
      const because = this.#options.gateway.unreadinessOf(host, service);
      if (because !== undefined) return { host, because };
    }
    return undefined;
  }

  /** Those who are behind after the wait, in the order in which they were asked for. */
  async #waitForConvergence({ hosts, revision, serviceVersion, service }: ConvergenceWait): Promise<readonly string[]> {
    const { gateway, clock, waitMs = WAIT_MS } = this.#options;
    const hasConverged = (host: string): boolean =>
      gateway.hasConverged(host, revision, serviceVersion) &&
      (service === undefined || gateway.unreadinessOf(host, service) === undefined);
    const behind = new Set(hosts.filter((host) => !hasConverged(host)));
    if (behind.size === 0) return [];
    const all = new AbortController();
    const deaf = gateway.onConvergence((host) => {
      if (!behind.has(host) || !hasConverged(host)) return;
      behind.delete(host);
      if (behind.size === 0) all.abort('all are in line');
    });
    await clock.sleep(waitMs, all.signal);
    deaf();
    // What a host has may be what is wanted by now, without a word of it.
    return [...behind].filter((host) => !hasConverged(host));
  }
}
