// Aggregates refused requests for the audit log. The first one of a caller, address, route and code within a window is a line at once; the rest
// of the window is one more line with their count. So refusals cannot fill a disk, and no caller is missing from the record.
import type { Caller } from '../../access/index.ts';

/** How long equal refusals are counted together. */
export const REFUSAL_WINDOW_MS = 60_000;
/** Distinct keys within a window; beyond them refusals are aggregated by code alone. Unauthenticated clients have fewer: there are more of them. */
const KNOWN_KEYS_MAX = 1000;
const ANONYMOUS_KEYS_MAX = 100;
/** Replaces the fields that are aggregated. */
const SEVERAL = 'several';

export interface RefusedRequest {
  readonly atMs: number;
  /** Of the fleet that this server had: the commits up to it came before. */
  readonly revision: number;
  /** Whose token was shown, whether or not it is still good; undefined for a stranger. */
  readonly caller: Caller | undefined;
  readonly address: string;
  readonly method: string;
  /** The route's path, or `none`. */
  readonly route: string;
  readonly status: number;
  readonly code: string;
  readonly requestId: string;
  /** The requested name, which is taken in a site that the caller may not see. */
  readonly requestedName?: string | undefined;
  /** Passed on by another server, whose address it then is. */
  readonly forwarded: boolean;
}

/** One line of the record, as it is exported. */
export interface RefusalLine {
  readonly type: 'refusal';
  readonly at: string;
  readonly atMs: number;
  readonly revision: number;
  /** The server that refused. */
  readonly server: string;
  readonly by?: string;
  readonly token?: string;
  readonly role?: string;
  readonly site?: string;
  readonly project?: string;
  readonly host?: string;
  readonly address: string;
  readonly method: string;
  readonly route: string;
  readonly status: number;
  readonly code: string;
  readonly count: number;
  /** When the first of `count` was refused, for a line that stands for several. */
  readonly since?: string;
  /** Of the last of them. */
  readonly requestId: string;
  readonly asked?: string;
  readonly forwarded?: true;
}

export type CallerClass = 'known' | 'strangers';

export interface RefusalLogOptions {
  readonly server: () => string;
  readonly write: (line: RefusalLine, audience: CallerClass) => void;
}

interface Window {
  readonly untilMs: number;
  readonly audience: CallerClass;
  last: RefusedRequest;
  /** Since the last line. */
  count: number;
  sinceMs: number;
}

export class RefusalLog {
  readonly #options: RefusalLogOptions;
  readonly #windows = new Map<string, Window>();
  readonly #keys: Record<CallerClass, number> = { known: 0, strangers: 0 };

  constructor(options: RefusalLogOptions) {
    this.#options = options;
  }

  record(request: RefusedRequest): void {
    const audience = request.caller === undefined ? 'strangers' : 'known';
    const collapseKey = this.#collapseKey(request, audience);
    const key = keyOf(collapseKey);
    const window = this.#windows.get(key);
    if (window !== undefined && window.untilMs > collapseKey.atMs) {
      if (window.count === 0) window.sinceMs = collapseKey.atMs;
      window.count += 1;
      window.last = collapseKey;
      return;
    }
    if (window !== undefined) this.#end(key, window);
    this.#keys[audience] += 1;
    const untilMs = collapseKey.atMs + REFUSAL_WINDOW_MS;
    this.#windows.set(key, { untilMs, audience, last: collapseKey, count: 0, sinceMs: collapseKey.atMs });
    this.#options.write(this.#line(collapseKey, { count: 1 }), audience);
  }

  /** Writes what was counted in windows that are over; all of it when the server stops. */
  flush(nowMs: number): void {
    for (const [key, window] of this.#windows) if (window.untilMs <= nowMs) this.#end(key, window);
  }

  #end(key: string, { audience, last, count, sinceMs }: Window): void {
    this.#windows.delete(key);
    this.#keys[audience] -= 1;
    if (count > 0) this.#options.write(this.#line(last, { count, sinceMs }), audience);
  }

  /** The key of the request while the limit of keys is not reached, else a coarser key. */
  #collapseKey(request: RefusedRequest, audience: CallerClass): RefusedRequest {
    const max = audience === 'known' ? KNOWN_KEYS_MAX : ANONYMOUS_KEYS_MAX;
    if (this.#keys[audience] < max || this.#windows.has(keyOf(request))) return request;
    // A known caller keeps its name in the key; its address and route are dropped.
    return { ...request, address: SEVERAL, method: SEVERAL, route: SEVERAL };
  }

  #line(request: RefusedRequest, collapsed: { readonly count: number; readonly sinceMs?: number }): RefusalLine {
    const { atMs, revision, caller, address, method, route, status, code, requestId, requestedName, forwarded } =
      request;
    return {
      type: 'refusal',
      at: new Date(atMs).toISOString(),
      atMs,
      revision,
      server: this.#options.server(),
      ...(caller !== undefined && callerFields(caller)),
      address,
      method,
      route,
      status,
      code,
      count: collapsed.count,
      ...(collapsed.sinceMs !== undefined && { since: new Date(collapsed.sinceMs).toISOString() }),
      requestId,
      ...(requestedName !== undefined && { asked: requestedName }),
      ...(forwarded && { forwarded: true as const }),
    };
  }
}

function callerFields({ name, token, role, site, project, host }: Caller) {
  return {
    by: name,
    ...(token !== undefined && { token }),
    role,
    ...(site !== undefined && { site }),
    ...(project !== undefined && { project }),
    ...(host !== undefined && { host }),
  };
}

function keyOf({ caller, address, method, route, code }: RefusedRequest): string {
  return [caller?.token ?? caller?.name ?? '', address, method, route, code].join('\n');
}
