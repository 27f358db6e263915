// The tasks of a manager, by a machine that takes its time and a control plane that answers as a test says.
import { afterEach, describe, expect, test } from 'vitest';
import { VirtualClock } from '../../journal/virtual-clock-fixture.ts';
import { LeaderClient, LinkDown, type Reply } from '../../link/index.ts';
import type {
  InventoryCallOptions,
  MachineCall,
  MachineDriver,
  MachineOutcome,
  MachineStatus,
} from '../drivers/inventory.ts';
import type { AnswerRequest, AnswerResponse, ManagerTask } from '../managers/messages.ts';
import type { ManagerLink } from './ports.ts';
import { ManagerTaskRunner } from './task-runner.ts';
import { ManagerTenure } from './tenure.ts';

const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined };
const RECORDED: Reply<AnswerResponse> = { kind: 'answer', answer: { result: 'recorded' } };
const FENCED: Reply<AnswerResponse> = { kind: 'refused', code: 'fenced', message: 'fenced' };
const WORK_MS = 1000;

const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

const task = (node: string, more: Partial<ManagerTask> = {}): ManagerTask => ({
  ...{ id: `op.${node}:deploy:1`, kind: 'deploy', args: {}, inventory: 'simulated' },
  ...{ node, nodeEpoch: 4, instance: `of-${node}` },
  ...more,
});

/** As of a process that is halted: time passes, and no timer fires. */
class HaltedClock extends VirtualClock {
  haltedMs = 0;

  override nowMs(): number {
    return super.nowMs() + this.haltedMs;
  }
}

class World implements MachineDriver {
  readonly name = 'simulated';
  readonly clock = new HaltedClock();
  readonly events: string[] = [];
  readonly runner: ManagerTaskRunner;
  renewals = 0;
  mostAtOnce = 0;
  answers: (Reply<AnswerResponse> | 'away')[] = [RECORDED];
  breaks = 0;
  /** For how long the process is halted while it looks at a machine. */
  haltsMs = 0;
  /** Of the lease, from each renewal on. */
  remainingMs = 60_000;
  leaseEpoch = 3;
  /** Whether the lease is over when it is to be renewed. */
  isOver = false;
  #atOnce = 0;

  constructor() {
    const { clock } = this;
    const none = (): Promise<never> => Promise.reject(new LinkDown('not here'));
    const lease = () => ({ leaseEpoch: this.leaseEpoch, remainingMs: this.remainingMs, renewMs: 5000 });
    const link: ManagerLink = {
      register: async () => ({ kind: 'answer', answer: lease() }),
      renew: async () => {
        this.renewals += 1;
        if (this.isOver) return this.#endLease();
        return { kind: 'answer', answer: lease() };
      },
      answer: (_to, _manager, request) => this.#takeAnswer(request),
      ...{ release: none, acquire: none, tasks: none, reserve: none },
    };
    const ports = { link, clock, random: () => 0.5, log: SILENT, drivers: new Map([['simulated' as const, this]]) };
    const options = { name: 'm1', version: '1', holder: 'p1', servers: ['s1'], token: () => 'token' };
    const leader = new LeaderClient(['s1'], SILENT);
    const tenure = new ManagerTenure(ports, options, leader, () => this.runner.wake());
    this.runner = new ManagerTaskRunner(ports, options, { leader, tenure });
    const over = new AbortController();
    stops.push(() => over.abort());
    void tenure.run(over.signal);
    void this.runner.run(over.signal);
  }

  /** As the control plane lists them to a manager under its lease. */
  list(tasks: readonly ManagerTask[], leaseEpoch = this.leaseEpoch): void {
    this.runner.take(tasks, { leaseEpoch, requestedAtMs: this.clock.nowMs() });
  }

  #endLease(): Reply<never> {
    this.isOver = false;
    this.leaseEpoch += 1;
    return { kind: 'refused', code: 'lease-lost', message: 'lost' };
  }

  async #takeAnswer({ task: id, nodeEpoch, outcome }: AnswerRequest): Promise<Reply<AnswerResponse>> {
    const said = this.answers.length > 1 ? this.answers.shift() : this.answers[0];
    if (said === 'away' || said === undefined) throw new LinkDown('away');
    this.events.push(
      `${said.kind === 'answer' ? said.answer.result : said.kind === 'refused' ? said.code : said.kind} ${id} ${nodeEpoch} ${outcome}`,
    );
    return said;
  }

  async inspect(): Promise<MachineStatus> {
    if (this.breaks > 0) {
      this.breaks -= 1;
      throw new Error('the inventory does not answer');
    }
    this.clock.haltedMs += this.haltsMs;
    return { power: 'off', state: 'empty' };
  }

  async carryOut({ node, nodeEpoch }: MachineCall, { signal }: InventoryCallOptions): Promise<MachineOutcome> {
    this.events.push(`begin ${node} ${nodeEpoch}`);
    this.#atOnce += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.#atOnce);
    await this.clock.sleep(WORK_MS, signal);
    this.#atOnce -= 1;
    this.events.push(`${signal.aborted ? 'abort' : 'end'} ${node} ${nodeEpoch}`);
    return { kind: 'applied' };
  }
}

const DONE = ['begin n1 4', 'end n1 4', 'recorded op.n1:deploy:1 4 done'];

describe('a task', () => {
  test('is carried out and answered once, however often it is listed', async () => {
    const world = new World();
    for (let listed = 0; listed < 5; listed += 1) {
      world.list([task('n1')]);
      await world.clock.pass(WORK_MS);
    }
    expect(world.events).toEqual(DONE);
  });

  test('is carried out again when it was not listed in between', async () => {
    const world = new World();
    for (const tasks of [[task('n1')], [], [task('n1')]]) {
      world.list(tasks);
      await world.clock.pass(2 * WORK_MS);
    }
    expect(world.events).toEqual([...DONE, ...DONE]);
  });

  test('that is listed no more is aborted, and nothing is said of it', async () => {
    const world = new World();
    world.list([task('n1'), task('n2')]);
    await world.clock.pass(WORK_MS / 2);
    world.list([task('n2')]);
    await world.clock.pass(10 * WORK_MS);
    expect(world.events).toEqual([
      ...['begin n1 4', 'begin n2 4', 'abort n1 4', 'end n2 4'],
      'recorded op.n2:deploy:1 4 done',
    ]);
  });

  test('is not begun once its deadline has passed, and aborted when it passes; others continue', async () => {
    const world = new World();
    world.list([
      task('n1', { remainingMs: WORK_MS / 2 }),
      task('n2', { remainingMs: 10 * WORK_MS }),
      task('n3', { remainingMs: 0 }),
      // As of a deletion, which has none.
      task('n4', { remainingMs: 100 * 365 * 24 * 3600 * 1000 }),
    ]);
    await world.clock.pass(20 * WORK_MS);
    expect(world.events).toEqual([
      ...['begin n1 4', 'begin n2 4', 'begin n4 4', 'abort n1 4'],
      ...['end n2 4', 'recorded op.n2:deploy:1 4 done', 'end n4 4', 'recorded op.n4:deploy:1 4 done'],
    ]);
  });

  test('is carried out until its deadline as it was listed last', async () => {
    const world = new World();
    world.list([task('n1', { remainingMs: WORK_MS / 2 })]);
    await world.clock.pass(WORK_MS / 4);
    world.list([task('n1', { remainingMs: 10 * WORK_MS })]);
    await world.clock.pass(10 * WORK_MS);
    expect(world.events).toEqual(DONE);
  });

  test('never: is begun after its deadline because a timer was late', async () => {
    const world = new World();
    world.haltsMs = 2 * WORK_MS;
    world.list([task('n1', { remainingMs: WORK_MS })]);
    await world.clock.pass(10 * WORK_MS);
    expect(world.events).toEqual([]);
  });

  test('is begun anew, with a look, when the node was acquired anew meanwhile', async () => {
    const world = new World();
    world.list([task('n1')]);
    await world.clock.pass(WORK_MS / 2);
    world.list([task('n1', { nodeEpoch: 5 })]);
    await world.clock.pass(10 * WORK_MS);
    expect(world.events.toSorted()).toEqual([
      ...['abort n1 4', 'begin n1 4', 'begin n1 5', 'end n1 5', 'recorded op.n1:deploy:1 5 done'],
    ]);
  });

  test('whose answer is refused is looked at again, and the lease with it', async () => {
    const world = new World();
    world.answers = [FENCED, RECORDED];
    world.list([task('n1')]);
    await world.clock.pass(2.5 * WORK_MS);
    expect(world.renewals).toBe(1);
    await world.clock.pass(WORK_MS);
    expect(world.events).toEqual([...DONE.slice(0, 2), 'fenced op.n1:deploy:1 4 done', ...DONE]);
  });

  test('is answered until the answer is taken', async () => {
    const world = new World();
    world.answers = ['away', 'away', 'away', RECORDED];
    world.list([task('n1')]);
    await world.clock.pass(20 * WORK_MS);
    expect(world.events).toEqual(DONE);
  });

  test('is tried again when its machine could not be looked at', async () => {
    const world = new World();
    world.breaks = 2;
    world.list([task('n1')]);
    await world.clock.pass(10 * WORK_MS);
    expect(world.events).toEqual(DONE);
  });

  test('without a driver fails', async () => {
    const world = new World();
    world.list([task('n1', { inventory: 'ironic' })]);
    await world.clock.pass(WORK_MS);
    expect(world.events).toEqual(['recorded op.n1:deploy:1 4 failed']);
  });

  test('is never begun without the right, and aborted when it ends', async () => {
    const world = new World();
    await world.clock.pass(0);
    world.remainingMs = 2500;
    // The next renewal is the last one that lasts.
    await world.clock.pass(5000);
    world.list([task('n1')]);
    await world.clock.pass(4000);
    expect(world.events).toEqual(['begin n1 4', 'abort n1 4']);
  });

  test('that was listed under an earlier lease is left alone: others may have had the node since', async () => {
    const world = new World();
    world.breaks = 8;
    world.list([task('n1')]);
    world.isOver = true;
    await world.clock.pass(30_000);
    expect([world.leaseEpoch, world.events]).toEqual([4, []]);
    world.list([task('n2')], 3);
    await world.clock.pass(10_000);
    expect(world.events).toEqual([]);
    world.list([task('n1', { nodeEpoch: 5 })]);
    await world.clock.pass(10 * WORK_MS);
    expect(world.events[0]).toBe('begin n1 5');
  });

  test('waits for its turn: not all at once', async () => {
    const world = new World();
    world.list(Array.from({ length: 200 }, (_, nth) => task(`n${nth}`)));
    await world.clock.pass(5 * WORK_MS);
    expect(world.mostAtOnce).toBe(64);
    expect(world.events.filter((event) => event.startsWith('recorded'))).toHaveLength(200);
  });
});
