// The hosts whose view a commit may have changed, until they are told. The commits of a group arrive one after the other: a host that several
// of them touch is told once.
import type { Clock } from '../../journal/index.ts';

export class AffectedHosts {
  readonly #clock: Pick<Clock, 'turn'>;
  readonly #tell: (host: string) => void;
  #hosts = new Set<string>();
  #isScheduled = false;

  constructor(clock: Pick<Clock, 'turn'>, tell: (host: string) => void) {
    this.#clock = clock;
    this.#tell = tell;
  }

  add(host: string): void {
    this.#hosts.add(host);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    void this.#clock.turn().then(() => this.#tellAll());
  }

  #tellAll(): void {
    const hosts = this.#hosts;
    this.#hosts = new Set();
    this.#isScheduled = false;
    for (const host of hosts) this.#tell(host);
  }
}
