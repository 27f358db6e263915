// The hosts whose view a commit may have changed, until they are notified. The commits of a group arrive one after the other: a host that several
// of them affect is notified once.
import type { Clock } from '../../journal/index.ts';

export class AffectedHosts {
  readonly #clock: Pick<Clock, 'turn'>;
  readonly #notify: (host: string) => void;
  #hosts = new Set<string>();
  #isScheduled = false;

  constructor(clock: Pick<Clock, 'turn'>, notify: (host: string) => void) {
    this.#clock = clock;
    this.#notify = notify;
  }

  add(host: string): void {
    this.#hosts.add(host);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    void this.#clock.turn().then(() => this.#notifyAll());
  }

  #notifyAll(): void {
    const hosts = this.#hosts;
    this.#hosts = new Set();
    this.#isScheduled = false;
    for (const host of hosts) this.#notify(host);
  }
}
