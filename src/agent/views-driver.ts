// The driver `views`: waits for a moment until hosts have converged on what was committed, or are ready for one service of it, and
// says who is behind and why. It changes nothing; who is to be waited for is decided anew each time.
import type { Reason } from '../fleet/index.ts';
import type { Clock, Journal } from '../journal/index.ts';
import type { Action, ActionFence, ActionOutcome, Driver } from '../operations/index.ts';

/** What it needs of the desk. */
export interface Lines {
  /** Whether it applied what was true at a revision, by an agent of a version or a newer one. */
  isInLine(host: string, revision: number, serviceVersion?: number): boolean;
  /** Why a host that has converged cannot provide a service yet; undefined when it can. */
  unreadinessOf(host: string, service: string): string | undefined;
  onApplied(hear: (host: string) => void): () => void;
}

/** Whether most of those that listen for a host do not hear it. */
type IsUnheard = (host: string) => boolean;

export interface ViewsDriverOptions {
  readonly desk: Lines;
  readonly journal: Pick<Journal, 'fence'>;
  readonly clock: Clock;
  readonly isUnheard: IsUnheard;
  readonly waitMs?: number;
}

/** Long enough for hosts that do well; the world is looked at again after it. */
const WAIT_MS = 2000;
/** Enough to know where to look. */
const NAMED_MAX = 10;

interface Asked {
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

function failed(reason: Reason): ActionOutcome {
  return { kind: 'failed', retryable: true, reason };
}

export class ViewsDriver implements Driver {
  readonly atOnceMax = AT_ONCE_MAX;
  readonly #options: ViewsDriverOptions;

  constructor(options: ViewsDriverOptions) {
    this.#options = options;
  }

  async carryOut({ args }: Action, { leaseEpoch }: ActionFence): Promise<ActionOutcome> {
    const { journal } = this.#options;
    const asked = args as unknown as Asked;
    if (journal.fence?.epoch !== leaseEpoch) return { kind: 'stale' };
    const early = this.#unheardTarget(asked);
    if (early !== undefined) return failed(early);
    const behind = await this.#settled(asked);
    // Another holder asks its own agents.
    if (journal.fence?.epoch !== leaseEpoch) return { kind: 'stale' };
    if (behind.length > 0) return failed(this.#reasonOf(behind, asked));
    const late = this.#unheardTarget(asked);
    return late === undefined ? { kind: 'applied' } : failed(late);
  }

  /** That nobody hears any of them says nothing for the others. */
  #unheardTarget({ service = '', target, others = [] }: Asked): Reason | undefined {
    const { isUnheard } = this.#options;
    if (target === undefined || others.length === 0 || !isUnheard(target)) return undefined;
    const heard = others.find((host) => !isUnheard(host));
    return heard === undefined ? undefined : { code: 'target-unheard', service, host: target, heard };
  }

  /**
   * A host that says why it cannot provide the service tells more than one that has not converged; but what one of these said is of an
   * earlier view, and of an earlier hand-over perhaps.
   */
  #reasonOf(behind: readonly string[], { service, revision, serviceVersion }: Asked): Reason {
    const { desk } = this.#options;
    const hosts = behind.slice(0, NAMED_MAX);
    const converged = behind.filter((host) => desk.isInLine(host, revision, serviceVersion));
    const told = service === undefined ? undefined : this.#unready(converged, service);
    if (service === undefined || told === undefined) return { code: 'hosts-behind', hosts, inAll: behind.length };
    return { code: 'service-not-ready', service, ...told, hosts };
  }

  #unready(hosts: readonly string[], service: string): { readonly host: string; readonly because: string } | undefined {
    for (const host of hosts) {
      const because = this.#options.desk.unreadinessOf(host, service);
      if (because !== undefined) return { host, because };
    }
    return undefined;
  }

  /** Those who are behind after the wait, in the order in which they were asked for. */
  async #settled({ hosts, revision, serviceVersion, service }: Asked): Promise<readonly string[]> {
    const { desk, clock, waitMs = WAIT_MS } = this.#options;
    const isInLine = (host: string): boolean =>
      desk.isInLine(host, revision, serviceVersion) &&
      (service === undefined || desk.unreadinessOf(host, service) === undefined);
    const behind = new Set(hosts.filter((host) => !isInLine(host)));
    if (behind.size === 0) return [];
    const all = new AbortController();
    const deaf = desk.onApplied((host) => {
      if (!behind.has(host) || !isInLine(host)) return;
      behind.delete(host);
      if (behind.size === 0) all.abort('all are in line');
    });
    await clock.sleep(waitMs, all.signal);
    deaf();
    // What a host has may be what is wanted by now, without a word of it.
    return [...behind].filter((host) => !isInLine(host));
  }
}
