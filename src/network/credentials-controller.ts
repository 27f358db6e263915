// Clears the alarm of missing credentials at the lease holder, as soon as that server has them. Builds raise it; without this it would stand until
// the next build on such a network, and work that waits for it, such as connecting ports again, would wait as long.
import { ALARM } from '../alarms/index.ts';
import { accept, NotHolder, StoreUnavailable, type Clock, type Journal } from '../journal/index.ts';
import { hasMissingCredentialsAlarm, hasCredentials, updateCredentialsAlarm } from './back-ends/credentials.ts';

export interface CredentialsControllerOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly credentials: Parameters<typeof hasCredentials>[0];
}

/** While the alarm stands. Otherwise nothing runs before a commit raises it. */
const LOOK_MS = 5000;

export class CredentialsController {
  readonly #options: CredentialsControllerOptions;

  constructor(options: CredentialsControllerOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { journal, clock } = this.#options;
    while (!signal.aborted) {
      if (hasMissingCredentialsAlarm(journal.fleet)) {
        await this.look();
        await clock.sleep(LOOK_MS, signal);
      } else await this.#untilRaised(signal);
    }
  }

  async look(): Promise<void> {
    const { journal, clock, credentials } = this.#options;
    const isUntrue = hasMissingCredentialsAlarm(journal.fleet) && hasCredentials(credentials);
    if (journal.fence === undefined || !isUntrue) return;
    const nowMs = clock.nowMs();
    try {
      await journal.submit({
        by: 'network',
        why: 'credentials of network back ends',
        decide: (fleet) => accept(updateCredentialsAlarm(fleet, false, nowMs), null),
      });
    } catch (error) {
      // The next pass tries again, here or at the next holder.
      if (!(error instanceof NotHolder) && !(error instanceof StoreUnavailable)) throw error;
    }
  }

  async #untilRaised(signal: AbortSignal): Promise<void> {
    const { journal } = this.#options;
    const ends: (() => void)[] = [];
    await new Promise<void>((resolve) => {
      const isRaised = (): void => {
        if (hasMissingCredentialsAlarm(journal.fleet)) resolve();
      };
      const onAbort = (): void => resolve();
      signal.addEventListener('abort', onAbort, { once: true });
      ends.push(
        journal.onCommit((_commit, applied) => {
          if (applied.some(({ kind }) => kind === ALARM.name)) isRaised();
        }),
        journal.onRebuilt(isRaised),
        () => signal.removeEventListener('abort', onAbort),
      );
    });
    for (const end of ends) end();
  }
}
