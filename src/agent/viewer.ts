// Keeps the host's view: waits at the holder for another one, refuses what is older, and has it on disk before anybody
// acts on it. While no server answers, the last view stays.
import { mark } from '../fleet/index.ts';
import type { Line } from './line.ts';
import type { Membership } from './membership.ts';
import type { Memory, Taken } from './memory.ts';
import type { Report, View, ViewAnswer, ViewAsk } from './messages.ts';
import { Pace } from './pace.ts';
import { DiskFailed, type AgentPorts } from './ports.ts';
import { refusalOf } from './stamp.ts';

/** A server that says `unchanged` sooner than this was not waited at: asking again at once would be a busy loop. */
const WAITED_AT_LEAST_MS = 1000;

export interface ViewerParts {
  readonly line: Line;
  readonly memory: Memory;
  readonly membership: Membership;
  /** Called when another view was taken, or the same one was confirmed. */
  readonly taken: () => void;
}

/** Where an answer came from, and how long that took. */
interface Came {
  readonly via: string;
  readonly waitedMs: number;
}

export class Viewer {
  readonly #ports: AgentPorts;
  readonly #parts: ViewerParts;
  readonly #pace: Pace;
  #taken: Taken | undefined;
  #confirmed = false;
  #refusedView: Report['refusedView'];
  #problem: string | undefined;
  /** After a start and after a cut the whole view is asked for. */
  #whole = true;

  constructor(ports: AgentPorts, parts: ViewerParts) {
    this.#ports = ports;
    this.#parts = parts;
    this.#pace = new Pace(ports);
  }

  get view(): View | undefined {
    return this.#taken?.view;
  }

  /** Whether a holder has vouched for the view since this program started. Tasks of one from the disk may be over. */
  get confirmed(): boolean {
    return this.#confirmed;
  }

  get refusedView(): Report['refusedView'] {
    return this.#refusedView;
  }

  get problems(): readonly string[] {
    return this.#problem === undefined ? [] : [this.#problem];
  }

  /** Of a host that was told to leave, the last view is nothing to go by. */
  async load(): Promise<void> {
    if (!this.#parts.membership.isLeaving) this.#taken = await this.#parts.memory.view();
  }

  /** The host has left: whatever it is told next is told to somebody new. */
  forget(): void {
    this.#taken = undefined;
    this.#confirmed = false;
    this.#refusedView = undefined;
    this.#whole = true;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (await this.#poll(signal)) this.#pace.reset();
      else await this.#pace.wait(signal);
    }
  }

  /** Asks once. False when it did not bring the agent on: then it is asked again later. */
  async #poll(signal: AbortSignal): Promise<boolean> {
    const { clock, link } = this.#ports;
    const { line, membership } = this.#parts;
    const secret = membership.credential();
    if (secret === undefined) return false;
    const askedMs = clock.nowMs();
    const said = await line.ask(secret, (to) => link.view(to, this.#ask(), signal), signal);
    this.#whole = said.kind !== 'answer';
    if (said.kind !== 'answer') return false;
    return this.#hear(said.answer, { via: said.via, waitedMs: clock.nowMs() - askedMs });
  }

  #ask(): ViewAsk {
    if (this.#whole || this.#taken === undefined) return {};
    const { digest, stamp } = this.#taken.view;
    return { digest, leaseEpoch: stamp.leaseEpoch };
  }

  async #hear(answer: ViewAnswer, { via, waitedMs }: Came): Promise<boolean> {
    const { membership } = this.#parts;
    await membership.learn(answer.controlPlane, via);
    if (answer.kind === 'view') return membership.isAuthentic(answer, via) && this.#take(answer.view);
    this.#vouchedFor();
    return waitedMs >= WAITED_AT_LEAST_MS;
  }

  /** A holder of the same epoch has the very view that it was asked about: that is as good as sending it. */
  #vouchedFor(): void {
    if (this.#confirmed && this.#refusedView === undefined) return;
    this.#confirmed = true;
    this.#refusedView = undefined;
    this.#parts.taken();
  }

  async #take(view: View): Promise<boolean> {
    const { membership, memory } = this.#parts;
    const current = membership.current;
    if (current === undefined) return false;
    const bound = this.#taken?.token === current.token ? this.#taken.view.stamp : undefined;
    const because = refusalOf({ host: current.host, stamp: bound, journalId: current.trust?.journalId }, view);
    if (because !== undefined) return this.#refuse(because, view);
    const taken: Taken = { token: current.token, view };
    try {
      if (!isSame(taken, this.#taken)) await memory.keepView(taken);
    } catch (error) {
      if (!(error instanceof DiskFailed)) throw error;
      // What is not on disk is not acted on: after a crash nobody would know how far this agent had come.
      this.#problem = error.message;
      return false;
    }
    this.#problem = undefined;
    this.#refusedView = undefined;
    this.#taken = taken;
    this.#confirmed = true;
    this.#parts.taken();
    return true;
  }

  #refuse(because: NonNullable<Report['refusedView']>['because'], { stamp }: View): false {
    mark('agent-refuses-old-view');
    if (this.#refusedView?.because !== because)
      this.#ports.log.warn({ because, stamp, have: this.#taken?.view.stamp }, 'a view is refused');
    this.#refusedView = { because, stamp };
    return false;
  }
}

function isSame(one: Taken, other: Taken | undefined): boolean {
  if (one.token !== other?.token || one.view.digest !== other.view.digest) return false;
  const [a, b] = [one.view.stamp, other.view.stamp];
  return a.journalId === b.journalId && a.leaseEpoch === b.leaseEpoch && a.revision === b.revision;
}
