// Carries out the tasks that the control plane lists, and says what came of each until it was taken. Answers stay in memory: a process that starts
// anew has another lease, finds its nodes under new epochs and looks at the machines first. It must never act for a task that is listed no more, or
// under another node epoch.
import { abortWith, Backoff, WakeSignal, type LeaderClient } from '../../link/index.ts';
import { shortenText } from '../../operations/index.ts';
import { RESERVE_TASK } from '../managers/answer.ts';
import { PROBLEM_LENGTH_MAX, PROBLEMS_MAX, TASKS_MAX, type ManagerTask } from '../managers/messages.ts';
import { carryOutOnMachine, type Right, type MachineTaskResult } from './machine-task.ts';
import type { ManagerOptions, ManagerPorts } from './ports.ts';
import { requestReservation } from './reserve-task.ts';
import type { ManagerTenure } from './tenure.ts';

/** Mostly they wait for machines. */
const TASKS_AT_ONCE_MAX = 64;
/** After a task without a result: its machine, or its inventory, could not be reached. */
const RETRY_MS = 1000;
const NOT_LISTED = 'the task is listed no more';
const OVERDUE = 'the deadline of the task has passed';
/** Timers last no longer than some weeks; what is due later is looked at again. */
const WAIT_MAX_MS = 3_600_000;

interface RunningTask {
  readonly over: AbortController;
  readonly ended: Promise<void>;
}

interface ListedUnder {
  /** Of the manager's lease when they were listed: under another one, others may have had the nodes meanwhile. */
  readonly leaseEpoch: number;
  /** When they were requested, by this process's own clock. */
  readonly requestedAtMs: number;
}

interface ManagerTaskRunnerParts {
  readonly leader: LeaderClient;
  readonly tenure: ManagerTenure;
}

export class ManagerTaskRunner {
  readonly #ports: ManagerPorts;
  readonly #options: ManagerOptions;
  readonly #parts: ManagerTaskRunnerParts;
  readonly #wakeSignal = new WakeSignal();
  readonly #running = new Map<string, RunningTask>();
  /** Those whose answer was taken, until they are listed no more. */
  readonly #answered = new Set<string>();
  /** Not before: they came to nothing a moment ago. */
  readonly #retryAtMs = new Map<string, number>();
  #listed: readonly ManagerTask[] = [];
  #listedUnder: number | undefined;
  /** Until when each that is listed may be carried out. */
  readonly #deadlineAtMs = new Map<string, number>();

  constructor(ports: ManagerPorts, options: ManagerOptions, parts: ManagerTaskRunnerParts) {
    this.#ports = ports;
    this.#options = options;
    this.#parts = parts;
  }

  get isIdle(): boolean {
    return this.#running.size === 0;
  }

  /** The tasks as they are now. */
  take(tasks: readonly ManagerTask[], { leaseEpoch, requestedAtMs }: ListedUnder): void {
    this.#listed = tasks;
    this.#listedUnder = leaseEpoch;
    const keys = new Set(tasks.map(keyOf));
    for (const task of tasks) this.#deadlineAtMs.set(keyOf(task), requestedAtMs + (task.remainingMs ?? Infinity));
    // Of a list that is cut off nothing is known of those behind its end.
    if (tasks.length < TASKS_MAX)
      for (const [key, { over }] of this.#running) if (!keys.has(key)) over.abort(NOT_LISTED);
    for (const known of [this.#answered, this.#retryAtMs])
      for (const key of known.keys()) if (!keys.has(key)) known.delete(key);
    for (const key of this.#deadlineAtMs.keys())
      if (!keys.has(key) && !this.#running.has(key)) this.#deadlineAtMs.delete(key);
    this.#wakeSignal.notify();
  }

  /** The right to act began or ended, or a task ended. */
  wake(): void {
    this.#wakeSignal.notify();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#ports;
    while (!signal.aborted) {
      this.#endOverdue();
      this.#startDue(signal);
      const deadlines = [...this.#running.keys()].map((key) => this.#deadlineOf(key));
      const waitMs = Math.min(...this.#retryAtMs.values(), ...deadlines) - clock.nowMs();
      if (!Number.isFinite(waitMs)) await this.#wakeSignal.wait(signal);
      else await this.#wakeSignal.wait(signal, { clock, ms: Math.min(WAIT_MAX_MS, Math.max(1, waitMs)) });
    }
    await Promise.all([...this.#running.values()].map(({ ended }) => ended));
  }

  #deadlineOf(key: string): number {
    return this.#deadlineAtMs.get(key) ?? Infinity;
  }

  #isOverdue(key: string): boolean {
    return this.#ports.clock.nowMs() >= this.#deadlineOf(key);
  }

  /** Nothing more is reported: its operation ends by the deadline, and a machine that is called no more is looked at by the next step. */
  #endOverdue(): void {
    for (const [key, { over }] of this.#running) if (this.#isOverdue(key)) over.abort(OVERDUE);
  }

  #startDue(signal: AbortSignal): void {
    const { clock } = this.#ports;
    const { right, current } = this.#parts.tenure;
    if (right === undefined || current?.leaseEpoch !== this.#listedUnder) return;
    for (const task of this.#listed) {
      const key = keyOf(task);
      if (this.#running.size >= TASKS_AT_ONCE_MAX) return;
      if (this.#running.has(key) || this.#answered.has(key) || this.#isOverdue(key)) continue;
      if ((this.#retryAtMs.get(key) ?? 0) > clock.nowMs()) continue;
      this.#retryAtMs.delete(key);
      const over = new AbortController();
      const unlink = [abortWith(over, signal), abortWith(over, right)];
      const ended = this.#perform(task, over.signal).finally(() => {
        for (const one of unlink) one();
        this.#running.delete(key);
        this.#wakeSignal.notify();
      });
      this.#running.set(key, { over, ended });
    }
  }

  async #perform(task: ManagerTask, signal: AbortSignal): Promise<void> {
    const mayAct = (): boolean => this.#parts.tenure.mayAct() && !this.#isOverdue(keyOf(task));
    const right: Right = { mayAct, signal };
    const result = await this.#carryOut(task, right);
    const isTaken = result !== undefined && !signal.aborted && (await this.#report(task, result, signal));
    if (isTaken) this.#answered.add(keyOf(task));
    else if (!signal.aborted) this.#retryAtMs.set(keyOf(task), this.#ports.clock.nowMs() + RETRY_MS);
  }

  async #carryOut(task: ManagerTask, right: Right): Promise<MachineTaskResult | undefined> {
    const { drivers, log } = this.#ports;
    const { name: manager, token } = this.#options;
    try {
      if (task.kind === RESERVE_TASK)
        return await requestReservation(task, {
          ports: this.#ports,
          leader: this.#parts.leader,
          token,
          manager,
          right,
        });
      const driver = task.inventory === undefined ? undefined : drivers.get(task.inventory);
      if (driver === undefined)
        return { outcome: 'failed', problems: [`This manager has no driver for "${task.inventory ?? task.kind}".`] };
      return await carryOutOnMachine(task, { driver, manager, right });
    } catch (error) {
      if (right.signal.aborted) return undefined;
      // Whatever knows the machine does not answer: the machine may have done it, and is looked at first the next time.
      log.warn({ task: task.id, node: task.node, err: error }, 'a task came to nothing, and is tried again');
      return undefined;
    }
  }

  /** False when it was not taken: the right is over, or was never there. */
  async #report(
    task: ManagerTask,
    { outcome, problems, facts }: MachineTaskResult,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { link, log } = this.#ports;
    const { leader, tenure } = this.#parts;
    const { id, node, nodeEpoch, instance } = task;
    const backoff = new Backoff(this.#ports);
    while (!signal.aborted) {
      const [secret, current] = [this.#options.token(), tenure.current];
      if (secret === undefined || current === undefined) return false;
      const request = {
        ...current,
        ...{ task: id, outcome },
        ...(node !== undefined && { node }),
        ...(nodeEpoch !== undefined && { nodeEpoch }),
        ...(instance !== undefined && { instance }),
        ...(problems !== undefined && { problems: problems.slice(0, PROBLEMS_MAX).map(shorten) }),
        ...(facts !== undefined && { facts }),
      };
      const said = await leader.call(secret, (to) => link.answer(to, this.#options.name, request), signal);
      if (said.kind === 'answer') return true;
      if (said.kind === 'refused') {
        log.warn({ task: id, node, code: said.code }, said.message);
        tenure.doubt();
        return false;
      }
      await backoff.wait(signal);
    }
    return false;
  }
}

/** A node that was acquired anew is another matter: what was begun before is not known to be this process's own. */
function keyOf({ id, nodeEpoch }: ManagerTask): string {
  return `${id} ${nodeEpoch ?? ''}`;
}

function shorten(problem: string): string {
  return shortenText(problem, PROBLEM_LENGTH_MAX);
}
