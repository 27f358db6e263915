// Carries out the tasks of the view, each once, and says what came of them until the server has taken it. An answer is
// on disk before it is reported, and is removed when the task is not in the view any more: then no operation waits for it.
import { shortenText, type Task, type TaskAnswer, type TaskFence, type TaskResult } from '../../operations/index.ts';
import { WakeSignal, type LeaderClient, Backoff, DiskFailed } from '../../link/index.ts';
import type { Membership } from './membership.ts';
import type { AgentStateStore } from './state/agent-state-store.ts';
import { ANSWERS_MAX, PROBLEM_LENGTH_MAX, PROBLEMS_MAX, type Stamp, type View } from '../protocol/messages.ts';
import type { AgentPorts } from './ports.ts';

/** Tasks under way at once on one machine; more would only fight for its disks and its link. */
const TASKS_AT_ONCE_MAX = 16;

const UNKNOWN_STAMP: Stamp = { journalId: '', leaseEpoch: 0, revision: 0 };

/** The task that orders a host to leave: everything of Muster is wiped off it, then its agent sends nothing more. */
const LEAVE = 'leave';

/**
 * Tasks that end nothing that runs on the host: these alone are carried out by a view that may be forged. A list of what is harmless, so that
 * a task that a module brings is refused until it is added here.
 */
const HARMLESS_TASKS: ReadonlySet<string> = new Set(['preflight', 'build', 'prepare', 'activate', 'start']);

const TASK_UNVERIFIED = 'task-not-authentic';

function refuseUnverified(kind: string): TaskResult {
  const problem = `The agent has no key of its control plane, and plain HTTP proves nothing: it does not carry out "${kind}". Use HTTPS, or join the host again.`;
  return { outcome: 'failed', problems: [problem] };
}

export interface TaskRunnerParts {
  readonly leader: LeaderClient;
  readonly store: AgentStateStore;
  readonly membership: Membership;
  readonly serviceVersion: number;
  /** The view whose tasks are to be done; undefined while no holder confirms it. */
  readonly view: () => View | undefined;
  /** Whether that view has proven to be of the control plane. */
  readonly isViewVerified: () => boolean;
}

export class TaskRunner {
  readonly #ports: AgentPorts;
  readonly #parts: TaskRunnerParts;
  readonly #wakeSignal = new WakeSignal();
  readonly #backoff: Backoff;
  readonly #running = new Map<string, Promise<void>>();
  readonly #answers = new Map<string, TaskAnswer>();
  /** Answers that the server has taken; they stay until the task is gone from the view. */
  readonly #delivered = new Set<string>();
  /** Answers that are not on disk yet. */
  #unsaved: TaskAnswer[] = [];

  constructor(ports: AgentPorts, parts: TaskRunnerParts) {
    this.#ports = ports;
    this.#parts = parts;
    this.#backoff = new Backoff(ports);
  }

  /** The view may be another. */
  wake(): void {
    this.#wakeSignal.notify();
  }

  async load(): Promise<void> {
    for (const answer of await this.#parts.store.readAnswers()) this.#answers.set(answer.task, answer);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#ports;
    while (!signal.aborted) {
      const view = this.#parts.view();
      if (view !== undefined) {
        this.#dropFinished(view);
        await this.#revertLeaveUnlessRequested(view);
        this.#startDue(view, signal);
      }
      const done = (await this.#saveAnswers()) && (await this.#sendAnswers());
      if (done) this.#backoff.reset();
      await this.#wakeSignal.wait(signal, done ? undefined : { clock, ms: this.#backoff.nextDelayMs() });
    }
    await Promise.all(this.#running.values());
  }

  #dropFinished(view: View): void {
    const wanted = new Set(view.tasks.map((task) => task.id));
    for (const task of [...this.#answers.keys()]) {
      // Whether a host that is wiped has left or stays is for the server to say.
      if (wanted.has(task) || task === this.#parts.membership.departure.task) continue;
      this.#answers.delete(task);
      this.#delivered.delete(task);
    }
  }

  /** Its answer did not outlive a crash, and its task is not in the view any more. */
  async #revertLeaveUnlessRequested({ tasks }: View): Promise<void> {
    const { departure } = this.#parts.membership;
    const { task } = departure;
    if (task === undefined || this.#isStarted(task) || tasks.some(({ id }) => id === task)) return;
    await departure.revert();
  }

  #startDue(view: View, signal: AbortSignal): void {
    for (const task of view.tasks) {
      if (this.#running.size >= TASKS_AT_ONCE_MAX) return;
      if (this.#isStarted(task.id)) continue;
      this.#running.set(task.id, this.#perform(task, view, signal));
    }
  }

  #isStarted(task: string): boolean {
    return this.#running.has(task) || this.#answers.has(task) || this.#unsaved.some((answer) => answer.task === task);
  }

  async #perform(task: Task, { stamp, host }: View, signal: AbortSignal): Promise<void> {
    const { serviceVersion } = this.#parts;
    const fence = { stamp, host, serviceVersion, signal };
    const performed = await this.#performProven(task, fence);
    this.#running.delete(task.id);
    // What a stop cut short has not failed: it is begun again at the next start.
    if (signal.aborted) return;
    this.#unsaved.push(toTaskAnswer(task, performed));
    this.#wakeSignal.notify();
  }

  /** What ends something is carried out only by a view that is proven: whoever answers in a server's place could have sent another. */
  async #performProven(task: Task, fence: TaskFence): Promise<TaskResult> {
    if (!HARMLESS_TASKS.has(task.kind) && !this.#parts.isViewVerified()) {
      const refused = refuseUnverified(task.kind);
      this.#ports.log.warn({ code: TASK_UNVERIFIED, task: task.id }, refused.problems?.[0] ?? '');
      return refused;
    }
    return task.kind === LEAVE ? this.#leave(task, fence) : this.#tryPerform(task, fence);
  }

  /** Nothing is built on the machine while it is wiped, nor afterwards. */
  async #leave(task: Task, fence: TaskFence): Promise<TaskResult> {
    const { departure } = this.#parts.membership;
    departure.beginWipe();
    const performed = await this.#tryPerform(task, fence);
    if (performed.outcome === 'failed' || fence.signal.aborted) {
      departure.abandonWipe();
      return performed;
    }
    try {
      await departure.recordWiped(task.id);
      return performed;
    } catch (error) {
      if (!(error instanceof DiskFailed)) throw error;
      departure.abandonWipe();
      return { outcome: 'failed', problems: [error.message] };
    }
  }

  /** Takes everything of ours off the switch of a host that was removed while it was not connected. False when something is left. */
  async wipe(view: View | undefined, signal: AbortSignal): Promise<boolean> {
    const { membership, serviceVersion } = this.#parts;
    // Without its last view it still knows what is its own on the switch.
    const { stamp = UNKNOWN_STAMP, host = membership.current?.host ?? '' } = view ?? {};
    const fence = { stamp, host, serviceVersion, signal };
    const { outcome } = await this.#tryPerform({ id: 'removed', kind: LEAVE, args: { force: true } }, fence);
    return outcome === 'done' && !signal.aborted;
  }

  async #tryPerform(task: Task, fence: TaskFence): Promise<TaskResult> {
    try {
      return await this.#ports.driver.perform(task, fence);
    } catch (error) {
      this.#ports.log.error({ task: task.id, err: error }, 'a task failed by a fault of the program');
      return { outcome: 'failed', problems: [error instanceof Error ? error.message : String(error)] };
    }
  }

  async #saveAnswers(): Promise<boolean> {
    if (this.#unsaved.length === 0) return true;
    const fresh = this.#unsaved;
    try {
      await this.#parts.store.writeAnswers([...this.#answers.values(), ...fresh]);
    } catch (error) {
      if (!(error instanceof DiskFailed)) throw error;
      this.#ports.log.warn({ code: error.code }, error.message);
      return false;
    }
    for (const answer of fresh) this.#answers.set(answer.task, answer);
    this.#unsaved = this.#unsaved.filter((answer) => !fresh.includes(answer));
    return true;
  }

  /** Says what the server has not taken yet. False when something is left to be said again. */
  async #sendAnswers(): Promise<boolean> {
    const answers = [...this.#answers.values()]
      .filter((answer) => !this.#delivered.has(answer.task))
      .slice(0, ANSWERS_MAX);
    const secret = this.#parts.membership.credential();
    if (answers.length === 0) return true;
    if (secret === undefined) return false;
    const { membership } = this.#parts;
    const said = await this.#parts.leader.call(secret, (to) => this.#ports.link.observe(to, { answers }));
    // Its credential ended with the answer, which was taken when it was said before.
    if (said.kind === 'refused') await membership.completeLeaveOnRefusal(said);
    if (said.kind !== 'answer') return false;
    for (const { task, result } of said.answer.results)
      if (result !== 'not-taken') await this.#markDelivered(task, result);
    return [...this.#answers.keys()].every((task) => this.#delivered.has(task));
  }

  async #markDelivered(task: string, result: 'recorded' | 'stale'): Promise<void> {
    const { departure } = this.#parts.membership;
    // The task to leave is gone and its heartbeats are accepted: it was brought back, unless it is being removed.
    const stays = result === 'stale' && task === departure.task && !isBeingRemoved(this.#parts.view());
    if (stays && !(await departure.revert())) return;
    this.#delivered.add(task);
    if (!stays) await departure.complete(task);
  }
}

function isBeingRemoved(view: View | undefined): boolean {
  const self = view?.parts['self'] as { readonly state?: string } | undefined;
  return self?.state === 'finalizing';
}

function toTaskAnswer(task: Task, { outcome, problems, facts }: TaskResult): TaskAnswer {
  const texts = problems?.slice(0, PROBLEMS_MAX).map((problem) => shortenText(problem, PROBLEM_LENGTH_MAX));
  return {
    task: task.id,
    outcome,
    ...(texts !== undefined && { problems: texts }),
    ...(facts !== undefined && { facts }),
  };
}
