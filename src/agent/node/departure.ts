// How a host leaves the fleet: by the task `leave`, or removed while its agent was away. Its machine is wiped, that is recorded before any server is
// informed, and then the agent sends nothing more. It stays when it was brought back before the server had the report.
import { mark } from '../../fleet/index.ts';
import { DiskFailed } from '../../link/index.ts';
import type { MembershipState } from './state/agent-state-store.ts';

/** Why the servers will not have this agent, in their words. */
export interface MembershipRefusal {
  readonly code: string;
  readonly message: string;
}

const LEAVE_REFUSAL: MembershipRefusal = {
  code: 'leave-ordered',
  message:
    'This host was ordered to leave the fleet and has left. It is quiet until it is joined again: "muster hosts join", and a token of "muster hosts join-token".',
};

/** It was not connected when it was removed: it learns of that when it is refused. Its code is what servers say. */
export const REMOVED: MembershipRefusal = {
  code: 'host-removed',
  message:
    'This host was removed from the fleet, and its switch is wiped. It is quiet until it is joined again: "muster hosts join", and a token of "muster hosts join-token".',
};

export interface DepartureParts {
  readonly identity: () => MembershipState;
  /** Rejects with `DiskFailed`. */
  readonly save: (identity: MembershipState) => Promise<void>;
  readonly reportRefusal: (refusal: MembershipRefusal) => void;
}

export class Departure {
  readonly #parts: DepartureParts;
  /** How often the machine is being wiped; whether that works out is not known yet. One that is ordered again wipes it again. */
  #wipesInProgress = 0;
  /** The servers say that it was removed; it is not wiped yet. */
  #isRemoved = false;
  /** Called when the host was removed behind its back: wipes the machine. True when nothing of the fleet is left on it. */
  onRemoved: () => Promise<boolean> = () => Promise.resolve(false);
  /** Called when the host has left. */
  onLeft: () => void = () => undefined;
  /** Called when it was not wiped after all, or only in part. */
  onReverted: () => void = () => undefined;

  constructor(parts: DepartureParts) {
    this.#parts = parts;
  }

  /** It was ordered to leave: nothing is brought about on this machine any more. */
  get isLeaving(): boolean {
    return this.#wipesInProgress > 0 || this.#isRemoved || this.#parts.identity().leaving !== undefined;
  }

  get hasLeft(): boolean {
    return this.#parts.identity().left === true;
  }

  /** The task by which it is leaving, until the server has said what it makes of that. */
  get task(): string | undefined {
    return this.hasLeft ? undefined : this.#parts.identity().leaving;
  }

  reportWhyLeft(): void {
    this.#parts.reportRefusal(this.#parts.identity().leaving === REMOVED.code ? REMOVED : LEAVE_REFUSAL);
  }

  /** The machine is wiped from now on; `abandonWipe` when that failed. */
  beginWipe(): void {
    this.#wipesInProgress += 1;
  }

  abandonWipe(): void {
    this.#wipesInProgress -= 1;
    this.onReverted();
  }

  /** The machine is wiped. Written down before the server is notified: after a crash nothing may be built there again. */
  async recordWiped(task: string): Promise<void> {
    await this.#parts.save({ ...this.#parts.identity(), leaving: task });
    this.#wipesInProgress -= 1;
  }

  /** The server knows, or does not accept this host any more. True when this was what it left by. */
  async complete(task?: string): Promise<boolean> {
    const identity = this.#parts.identity();
    const { leaving } = identity;
    if (leaving === undefined || (task !== undefined && task !== leaving)) return false;
    if (!this.hasLeft && !(await this.#trySave({ ...identity, left: true }))) return false;
    this.reportWhyLeft();
    this.onLeft();
    return true;
  }

  /** It is tried again with the next refusal. Until then nothing is brought about on the machine, and it is not put back either. */
  async leaveRemoved(): Promise<boolean> {
    this.#isRemoved = true;
    if (this.#wipesInProgress > 0 || !(await this.onRemoved())) return false;
    const left = { ...this.#parts.identity(), leaving: REMOVED.code, left: true } as const;
    return (await this.#trySave(left)) && (await this.complete());
  }

  /** It is one of the fleet: what was said of its removal is over. */
  clearRemoved(): void {
    if (!this.#isRemoved) return;
    this.#isRemoved = false;
    this.onReverted();
  }

  /** It was brought back before the server had the report that it is wiped: it is in the fleet as before. False when it is not yet. */
  async revert(): Promise<boolean> {
    // Ordered to leave once more meanwhile: nothing is put back on a machine that is being wiped.
    if (this.#wipesInProgress > 0) return false;
    mark('leave-reverted');
    const { leaving: _, ...identity } = this.#parts.identity();
    if (!(await this.#trySave(identity))) return false;
    this.onReverted();
    return true;
  }

  async #trySave(identity: MembershipState): Promise<boolean> {
    try {
      await this.#parts.save(identity);
      return true;
    } catch (error) {
      if (!(error instanceof DiskFailed)) throw error;
      this.#parts.reportRefusal({ code: error.code, message: error.message });
      return false;
    }
  }
}
