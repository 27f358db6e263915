// What has reached this agent without proof that it is of the control plane: logged once, and reported as a problem until something with proof arrives.
import type { Log } from '../../operations/index.ts';
import type { ViewAuthenticity } from './trust.ts';

const UNVERIFIABLE = {
  code: 'view-unverifiable',
  message:
    'This agent has no key of its control plane and speaks plain HTTP: it takes views, but does not leave the fleet on a leave order. Use HTTPS, or join this host again.',
};

export class AuthenticityReport {
  readonly #log: Log;
  #unauthenticated: string | undefined;
  /** The last view that was taken proves nothing. */
  #isUnverifiable = false;

  constructor(log: Log) {
    this.#log = log;
  }

  get problems(): readonly string[] {
    const unverifiable = this.#isUnverifiable ? [UNVERIFIABLE.message] : [];
    return this.#unauthenticated === undefined ? unverifiable : [this.#unauthenticated, ...unverifiable];
  }

  reportView(authenticity: ViewAuthenticity, via: string): void {
    if (authenticity === 'not-authentic') {
      this.#report('view-not-authentic', via, 'a view');
      return;
    }
    const isUnverifiable = authenticity === 'unverifiable';
    if (isUnverifiable && !this.#isUnverifiable)
      this.#log.warn({ code: UNVERIFIABLE.code, server: via }, UNVERIFIABLE.message);
    this.#isUnverifiable = isUnverifiable;
    this.#unauthenticated = undefined;
  }

  reportRemoval(via: string): void {
    this.#report('removal-not-authentic', via, 'word that this host was removed');
  }

  /** It has joined: what came before is over. */
  clear(): void {
    this.#unauthenticated = undefined;
    this.#isUnverifiable = false;
  }

  #report(code: string, via: string, what: string): void {
    const message = `${via} sent ${what} without proof that it is of the control plane. This host keeps its last view. Use HTTPS, or join it again.`;
    if (this.#unauthenticated !== message) this.#log.warn({ code, server: via }, message);
    this.#unauthenticated = message;
  }
}
