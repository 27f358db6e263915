// Detects that two machines use the credential of one host, as after a disk was cloned or a secret was stolen. Each start of an agent has a
// mark of its own: a mark that returns after another one was never stopped. In memory only; the next lease holder detects it again.
import type { AgentIdentity } from './admission.ts';

/** A heartbeat that was in flight when its agent was restarted may arrive late, once. */
const RETURNS_CERTAIN = 2;
/** More machines than this with one credential are still reported. */
const MARKS_KEPT = 4;

interface Shown {
  readonly token: string | undefined;
  readonly current: string;
  /** The earlier marks, the newest first. */
  readonly former: readonly string[];
  readonly returns: number;
  /** When it was last certain that there are two machines. */
  readonly sharedMs?: number;
}

export class SharedCredentials {
  readonly #shown = new Map<string, Shown>();

  /** Agents of older versions send no mark. */
  note({ host, token }: AgentIdentity, process: string | undefined, nowMs: number): void {
    if (process === undefined) return;
    const known = this.#shown.get(host);
    if (known === undefined || known.token !== token) {
      this.#shown.set(host, { token, current: process, former: [], returns: 0 });
      return;
    }
    if (known.current === process) return;
    const returns = known.returns + (known.former.includes(process) ? 1 : 0);
    const others = known.former.filter((one) => one !== process);
    const former = [known.current, ...others].slice(0, MARKS_KEPT);
    const isReturn = returns > known.returns;
    const isShared = isReturn && returns >= RETURNS_CERTAIN;
    this.#shown.set(host, { ...known, current: process, former, returns, ...(isShared && { sharedMs: nowMs }) });
  }

  /** The hosts for which it is certain, and when that was last seen. */
  *hosts(): Iterable<readonly [host: string, sharedMs: number]> {
    for (const [host, { sharedMs }] of this.#shown) if (sharedMs !== undefined) yield [host, sharedMs];
  }

  clear(): void {
    this.#shown.clear();
  }
}
