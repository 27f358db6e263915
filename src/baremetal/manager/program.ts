// The program that acts on machines: it holds its lease, acquires nodes, takes tasks and answers them. It touches a machine only for a task, and never
// beyond its lease. Whatever happens to it, nothing is lost: what is to be done is in the control plane.
import { LeaderClient, LongPoll, WakeSignal, type PollOutcome } from '../../link/index.ts';
import type { TasksResponse } from '../managers/messages.ts';
import type { ManagerOptions, ManagerPorts } from './ports.ts';
import { ManagerTaskRunner } from './task-runner.ts';
import { ManagerTenure } from './tenure.ts';

const ACQUIRE_RETRY_MS = 1000;
/** Requests for nodes under way: while the control plane writes one batch, it decides the next. */
const ACQUIRES_AT_ONCE = 2;
/** The machines' calls are ended with the program; one that does not end in time keeps the lease until it runs out. */
const STOP_WITHIN_MS = 5000;

export class ManagerProgram {
  readonly #ports: ManagerPorts;
  readonly #options: ManagerOptions;
  readonly #leader: LeaderClient;
  readonly #tenure: ManagerTenure;
  readonly #runner: ManagerTaskRunner;
  readonly #offered = new WakeSignal();
  /** As the last answer said: whether there were nodes to acquire. */
  #isOffered = false;
  /** Of the tasks that were listed last, under this lease. */
  #known: { readonly leaseEpoch: number; readonly digest: string } | undefined;
  /** The lease under which tasks were requested last: their answer may come under another one. */
  #polledUnder: number | undefined;
  #polledAtMs = 0;

  constructor(ports: ManagerPorts, options: ManagerOptions) {
    this.#ports = ports;
    this.#options = { ...options, name: options.name.toLowerCase() };
    // Servers pass on what only the one that decides can answer: no redirect has to be followed.
    this.#leader = new LeaderClient(options.servers, ports.log);
    this.#tenure = new ManagerTenure(ports, this.#options, this.#leader, () => this.#runner.wake());
    this.#runner = new ManagerTaskRunner(ports, this.#options, { leader: this.#leader, tenure: this.#tenure });
  }

  /** Whether it holds its lease, by its own clock. */
  get mayAct(): boolean {
    return this.#tenure.mayAct();
  }

  /** Works until `signal` is aborted, and releases its lease then. */
  async run(signal: AbortSignal): Promise<void> {
    const stopping = new AbortController();
    const begun = [this.#tenure.run(stopping.signal), this.#acquireWhenOffered(signal), this.#pollTasks(signal)];
    await this.#endRunner(signal);
    stopping.abort('stopped');
    await Promise.all(begun);
    if (this.#runner.isIdle) await this.#tenure.release();
  }

  async #endRunner(signal: AbortSignal): Promise<void> {
    const { clock } = this.#ports;
    const running = this.#runner.run(signal);
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener('abort', () => resolve(), { once: true });
      void running.then(resolve, () => resolve());
    });
    const over = new AbortController();
    await Promise.race([running, clock.sleep(STOP_WITHIN_MS, over.signal)]);
    over.abort('ended');
  }

  async #pollTasks(signal: AbortSignal): Promise<void> {
    const { link } = this.#ports;
    const poll = new LongPoll<TasksResponse>(this.#ports, {
      leader: this.#leader,
      secret: () => (this.#tenure.current === undefined ? undefined : this.#options.token()),
      request: (to, how) => link.tasks(to, this.#options.name, this.#composeQuery(how.isResumed), how.signal),
      take: (answer) => Promise.resolve(this.#take(answer)),
    });
    await poll.run(signal);
  }

  #composeQuery(isResumed: boolean) {
    const current = this.#tenure.current ?? { holder: this.#options.holder, leaseEpoch: 1 };
    this.#polledUnder = current.leaseEpoch;
    this.#polledAtMs = this.#ports.clock.nowMs();
    const known = this.#known?.leaseEpoch === current.leaseEpoch ? this.#known : undefined;
    return { ...current, ...(isResumed && known !== undefined && { digest: known.digest }) };
  }

  #take(answer: TasksResponse): PollOutcome {
    if (answer.kind === 'unchanged') return 'unchanged';
    const { current } = this.#tenure;
    if (current === undefined || current.leaseEpoch !== this.#polledUnder) return 'not-taken';
    this.#known = { leaseEpoch: current.leaseEpoch, digest: answer.digest };
    this.#runner.take(answer.tasks, { leaseEpoch: current.leaseEpoch, requestedAtMs: this.#polledAtMs });
    this.#isOffered = answer.offered > 0;
    if (this.#isOffered) this.#offered.notify();
    return 'taken';
  }

  /** In batches, until nothing is left for it. What it was offered and did not get is requested again, as often as the lease is renewed. */
  async #acquireWhenOffered(signal: AbortSignal): Promise<void> {
    const { clock } = this.#ports;
    while (!signal.aborted) {
      const { renewMs } = this.#tenure;
      if (this.#isOffered && renewMs !== undefined) await this.#offered.wait(signal, { clock, ms: renewMs });
      else await this.#offered.wait(signal);
      const acquireAll = async (): Promise<void> => {
        while (!signal.aborted && (await this.#acquireBatch(signal))) await clock.turn();
      };
      await Promise.all(Array.from({ length: ACQUIRES_AT_ONCE }, acquireAll));
    }
  }

  /** Whether to repeat the request at once. */
  async #acquireBatch(signal: AbortSignal): Promise<boolean> {
    const { link, clock, log } = this.#ports;
    const [secret, current] = [this.#options.token(), this.#tenure.current];
    if (secret === undefined || current === undefined) return false;
    const said = await this.#leader.call(secret, (to) => link.acquire(to, this.#options.name, current), signal);
    if (said.kind === 'away') {
      await clock.sleep(ACQUIRE_RETRY_MS, signal);
      return true;
    }
    if (said.kind === 'refused') {
      this.#tenure.doubt();
      return false;
    }
    const { acquired, left } = said.answer;
    this.#isOffered = left > 0;
    if (acquired > 0) log.info({ manager: this.#options.name, acquired, left }, 'nodes acquired');
    return acquired > 0 && left > 0;
  }
}
