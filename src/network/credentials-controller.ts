// Clears the alarm of missing credentials at the lease holder, as soon as that server has them. Builds raise it; without this it would stand until
// the next build on such a network, and work that waits for it, such as connecting ports again, would wait as long.
import { ALARM } from '../alarms/index.ts';
import { accept, LeaseHolderLoop, type Clock, type Journal, type LeasePass, type Log } from '../journal/index.ts';
import { hasMissingCredentialsAlarm, hasCredentials, updateCredentialsAlarm } from './back-ends/credentials.ts';

export interface CredentialsControllerOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
  readonly credentials: Parameters<typeof hasCredentials>[0];
}

/** While the alarm stands. */
const INTERVAL_MS = 5000;
/** Only a bound: a commit ends the sleep before. */
const IDLE_MS = 60_000;

export class CredentialsController {
  readonly #options: CredentialsControllerOptions;
  readonly #loop: LeaseHolderLoop;

  constructor(options: CredentialsControllerOptions) {
    this.#options = options;
    this.#loop = new LeaseHolderLoop({
      ...options,
      name: 'credentials',
      reconcile: (pass) => this.#clearAlarm(pass),
      intervalMs: () => (this.#isRaised() ? INTERVAL_MS : IDLE_MS),
      isSilent: true,
      subscribe: () => this.#subscribe(),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#loop.run(signal);
  }

  #subscribe(): () => void {
    const { journal } = this.#options;
    const wake = (): void => {
      if (this.#isRaised()) this.#loop.wake();
    };
    const stops = [
      journal.onCommit(({ applied }) => {
        if (applied.some(({ kind }) => kind === ALARM.name)) wake();
      }),
      journal.onRebuilt(wake),
    ];
    return () => {
      for (const stop of stops) stop();
    };
  }

  #isRaised(): boolean {
    return hasMissingCredentialsAlarm(this.#options.journal.fleet);
  }

  async #clearAlarm({ nowMs }: LeasePass): Promise<void> {
    const { journal, credentials } = this.#options;
    if (!this.#isRaised() || !hasCredentials(credentials)) return;
    await journal.submit({
      by: 'network',
      why: 'credentials of network back ends',
      decide: (fleet) => accept(updateCredentialsAlarm(fleet, false, nowMs), null),
    });
  }
}
