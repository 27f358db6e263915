// Carries out the tasks of the view, each once, and says what came of them until the server has taken it. An answer is
// on disk before it is said, and is forgotten when the task is in the view no more: then nobody waits for it.
import type { Task, TaskAnswer } from '../operations/index.ts';
import { Bell } from './bell.ts';
import type { Line } from './line.ts';
import type { Membership } from './membership.ts';
import type { Memory } from './memory.ts';
import { ANSWERS_MAX, PROBLEM_LENGTH_MAX, PROBLEMS_MAX, type View } from './messages.ts';
import { Pace } from './pace.ts';
import { DiskFailed, type AgentPorts, type Performed } from './ports.ts';

/** Tasks under way at once on one machine; more would only fight for its disks and its link. */
const TASKS_AT_ONCE_MAX = 16;

/** The task that tells a host to leave: everything of ours is wiped off it, then it is quiet. */
const LEAVE = 'leave';

export interface TasksParts {
  readonly line: Line;
  readonly memory: Memory;
  readonly membership: Membership;
  readonly serviceVersion: number;
  /** The view whose tasks are to be done; undefined while no holder vouches for it. */
  readonly view: () => View | undefined;
}

export class Tasks {
  readonly #ports: AgentPorts;
  readonly #parts: TasksParts;
  readonly #bell = new Bell();
  readonly #pace: Pace;
  readonly #underWay = new Map<string, Promise<void>>();
  readonly #answers = new Map<string, TaskAnswer>();
  /** Answers that the server has taken; they stay until the task is gone from the view. */
  readonly #taken = new Set<string>();
  /** Answers that are not on disk yet. */
  #fresh: TaskAnswer[] = [];

  constructor(ports: AgentPorts, parts: TasksParts) {
    this.#ports = ports;
    this.#parts = parts;
    this.#pace = new Pace(ports);
  }

  /** The view may be another. */
  look(): void {
    this.#bell.ring();
  }

  async load(): Promise<void> {
    for (const answer of await this.#parts.memory.answers()) this.#answers.set(answer.task, answer);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#ports;
    while (!signal.aborted) {
      const view = this.#parts.view();
      if (view !== undefined) {
        this.#forget(view);
        await this.#stayUnlessTold(view);
        this.#begin(view, signal);
      }
      const done = (await this.#keepFresh()) && (await this.#say());
      if (done) this.#pace.reset();
      await this.#bell.wait(signal, done ? undefined : { clock, ms: this.#pace.nextMs() });
    }
    await Promise.all(this.#underWay.values());
  }

  #forget(view: View): void {
    const wanted = new Set(view.tasks.map((task) => task.id));
    for (const task of [...this.#answers.keys()]) {
      // Whether a host that is wiped has left or stays is for the server to say.
      if (wanted.has(task) || task === this.#parts.membership.leavingBy) continue;
      this.#answers.delete(task);
      this.#taken.delete(task);
    }
  }

  /** Its answer did not outlive a crash, and nobody asks for it any more. */
  async #stayUnlessTold({ tasks }: View): Promise<void> {
    const { membership } = this.#parts;
    const told = membership.leavingBy;
    if (told === undefined || this.#isBegun(told) || tasks.some(({ id }) => id === told)) return;
    await membership.stayAfterAll();
  }

  #begin(view: View, signal: AbortSignal): void {
    for (const task of view.tasks) {
      if (this.#underWay.size >= TASKS_AT_ONCE_MAX) return;
      if (this.#isBegun(task.id)) continue;
      this.#underWay.set(task.id, this.#perform(task, view, signal));
    }
  }

  #isBegun(task: string): boolean {
    return this.#underWay.has(task) || this.#answers.has(task) || this.#fresh.some((answer) => answer.task === task);
  }

  async #perform(task: Task, { stamp, host }: View, signal: AbortSignal): Promise<void> {
    const { serviceVersion } = this.#parts;
    const fence = { stamp, host, serviceVersion, signal };
    const performed = await (task.kind === LEAVE ? this.#leave(task, fence) : this.#tryPerform(task, fence));
    this.#underWay.delete(task.id);
    // What a stop cut short has not failed: it is begun again at the next start.
    if (signal.aborted) return;
    this.#fresh.push(answerTo(task, performed));
    this.#bell.ring();
  }

  /** Nothing is built on the machine while it is wiped, nor afterwards. */
  async #leave(task: Task, fence: Parameters<AgentPorts['driver']['perform']>[1]): Promise<Performed> {
    const { membership } = this.#parts;
    membership.beginToLeave();
    const performed = await this.#tryPerform(task, fence);
    if (performed.outcome === 'failed' || fence.signal.aborted) {
      membership.stay();
      return performed;
    }
    try {
      await membership.leave(task.id);
      return performed;
    } catch (error) {
      if (!(error instanceof DiskFailed)) throw error;
      membership.stay();
      return { outcome: 'failed', problems: [error.message] };
    }
  }

  /** Takes off the machine what a host that was removed unheard still has of its last view. False when something is left. */
  async wipe(view: View | undefined, signal: AbortSignal): Promise<boolean> {
    if (view === undefined) return true;
    const { stamp, host } = view;
    const fence = { stamp, host, serviceVersion: this.#parts.serviceVersion, signal };
    const { outcome } = await this.#tryPerform({ id: 'removed', kind: LEAVE, args: { force: true } }, fence);
    return outcome === 'done' && !signal.aborted;
  }

  async #tryPerform(task: Task, fence: Parameters<AgentPorts['driver']['perform']>[1]): Promise<Performed> {
    try {
      return await this.#ports.driver.perform(task, fence);
    } catch (error) {
      this.#ports.log.error({ task: task.id, err: error }, 'a task failed by a fault of the program');
      return { outcome: 'failed', problems: [error instanceof Error ? error.message : String(error)] };
    }
  }

  async #keepFresh(): Promise<boolean> {
    if (this.#fresh.length === 0) return true;
    const fresh = this.#fresh;
    try {
      await this.#parts.memory.keepAnswers([...this.#answers.values(), ...fresh]);
    } catch (error) {
      if (!(error instanceof DiskFailed)) throw error;
      this.#ports.log.warn({ code: error.code }, error.message);
      return false;
    }
    for (const answer of fresh) this.#answers.set(answer.task, answer);
    this.#fresh = this.#fresh.filter((answer) => !fresh.includes(answer));
    return true;
  }

  /** Says what the server has not taken yet. False when something is left to be said again. */
  async #say(): Promise<boolean> {
    const answers = [...this.#answers.values()].filter((answer) => !this.#taken.has(answer.task)).slice(0, ANSWERS_MAX);
    const secret = this.#parts.membership.credential();
    if (answers.length === 0) return true;
    if (secret === undefined) return false;
    const { membership } = this.#parts;
    const said = await this.#parts.line.ask(secret, (to) => this.#ports.link.observe(to, { answers }));
    // Its credential ended with the answer, which was taken when it was said before.
    if (said.kind === 'refused') await membership.leftBy(said);
    if (said.kind !== 'answer') return false;
    for (const { task, result } of said.answer.results) if (result !== 'not-taken') await this.#noteTaken(task, result);
    return [...this.#answers.keys()].every((task) => this.#taken.has(task));
  }

  async #noteTaken(task: string, result: 'recorded' | 'stale'): Promise<void> {
    const { membership } = this.#parts;
    // Nobody waits for it to leave any more, and it is listened to: it was brought back, unless it is being removed.
    const stays = result === 'stale' && task === membership.leavingBy && !isBeingRemoved(this.#parts.view());
    if (stays && !(await membership.stayAfterAll())) return;
    this.#taken.add(task);
    if (!stays) await membership.left(task);
  }
}

function isBeingRemoved(view: View | undefined): boolean {
  const self = view?.parts['self'] as { readonly state?: string } | undefined;
  return self?.state === 'finalizing';
}

function answerTo(task: Task, { outcome, problems, facts }: Performed): TaskAnswer {
  const told = problems?.slice(0, PROBLEMS_MAX).map((problem) => problem.slice(0, PROBLEM_LENGTH_MAX));
  return {
    task: task.id,
    outcome,
    ...(told !== undefined && { problems: told }),
    ...(facts !== undefined && { facts }),
  };
}
