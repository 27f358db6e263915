import { describe, expect, test } from 'vitest';
import type { MachineCall, MachineDriver, MachineOutcome, MachineStatus } from '../drivers/inventory.ts';
import type { ManagerTask } from '../managers/messages.ts';
import { carryOutOnMachine, type Right } from './machine-task.ts';

const EMPTY: MachineStatus = { power: 'off', state: 'empty' };
const DEPLOYED: MachineStatus = { power: 'on', state: 'deployed', instance: 'i1' };
const TASK: ManagerTask = {
  ...{ id: 'op.a:deploy:1', kind: 'deploy', args: { image: 'debian' } },
  ...{ node: 'n1', nodeEpoch: 4, instance: 'i1', inventory: 'simulated' },
};

/** A machine that notes what is done to it. */
class OneMachine implements MachineDriver {
  readonly name = 'simulated';
  readonly calls: MachineCall[] = [];
  readonly #status: MachineStatus;
  readonly #outcome: MachineOutcome;
  readonly #onInspect: () => void;

  constructor(status: MachineStatus, outcome: MachineOutcome = { kind: 'applied' }, onInspect = (): void => undefined) {
    this.#status = status;
    this.#outcome = outcome;
    this.#onInspect = onInspect;
  }

  async inspect(): Promise<MachineStatus> {
    this.#onInspect();
    return this.#status;
  }

  async carryOut(call: MachineCall): Promise<MachineOutcome> {
    this.calls.push(call);
    return this.#outcome;
  }
}

const NEVER = new AbortController().signal;
const GOOD: Right = { mayAct: () => true, signal: NEVER };

function carryOut(driver: MachineDriver, task: Partial<ManagerTask> = {}, right: Right = GOOD) {
  return carryOutOnMachine({ ...TASK, ...task }, { driver, manager: 'm1', right });
}

describe('a task on a machine', () => {
  test('is carried out with the fence of its node, and what the task says', async () => {
    const machine = new OneMachine(EMPTY, { kind: 'applied', facts: { disk: 'sda' } });
    expect(await carryOut(machine)).toEqual({ outcome: 'done', facts: { disk: 'sda' } });
    expect(machine.calls).toEqual([
      {
        ...{ node: 'n1', nodeEpoch: 4, instance: 'i1', action: 'deploy', manager: 'm1' },
        args: { image: 'debian', task: 'op.a:deploy:1' },
      },
    ]);
  });

  test.each<[string, string, MachineStatus, 'done' | 'begun']>([
    ['deployed-already', 'deploy', DEPLOYED, 'done'],
    ['deployed-for-another', 'deploy', { ...DEPLOYED, instance: 'i2' }, 'begun'],
    ['being-deployed', 'deploy', { ...DEPLOYED, state: 'deploying' }, 'begun'],
    ['empty', 'deploy', EMPTY, 'begun'],
    ['clean-already', 'clean', EMPTY, 'done'],
    ['clean-and-another-has-it', 'clean', { ...EMPTY, instance: 'i1' }, 'begun'],
    ['being-cleaned', 'clean', { ...DEPLOYED, state: 'cleaning' }, 'begun'],
    ['on-already', 'power-on', DEPLOYED, 'done'],
    ['off-already', 'power-off', { ...DEPLOYED, power: 'off' }, 'done'],
    ['on', 'power-off', DEPLOYED, 'begun'],
    ['power-unknown', 'power-on', { ...DEPLOYED, power: 'unknown' }, 'begun'],
    ['deployed', 'reboot', DEPLOYED, 'begun'],
    ['connected-or-not', 'connect', DEPLOYED, 'begun'],
  ])('looks first: %s, to %s', async (_name, kind, status, expected) => {
    const machine = new OneMachine(status);
    expect((await carryOut(machine, { kind }))?.outcome).toBe('done');
    expect(machine.calls).toHaveLength(expected === 'begun' ? 1 : 0);
  });

  test.each<[string, MachineOutcome, object | undefined]>([
    ['already', { kind: 'already' }, { outcome: 'done' }],
    ['refused-by-the-control-plane', { kind: 'stale' }, undefined],
    [
      'stale-says-the-machine',
      { kind: 'stale', reason: { code: 'machine-not-ours', message: 'Another has it.' } },
      {
        outcome: 'failed',
        problems: ['Another has it.'],
        facts: { reason: { code: 'machine-not-ours', message: 'Another has it.' } },
      },
    ],
    [
      'failed',
      { kind: 'failed', reason: { code: 'no-boot', message: 'It does not boot.' } },
      {
        outcome: 'failed',
        problems: ['It does not boot.'],
        facts: { reason: { code: 'no-boot', message: 'It does not boot.' } },
      },
    ],
    [
      'failed-without-words',
      { kind: 'failed', reason: { code: 'no-boot' } },
      { outcome: 'failed', problems: ['no-boot'], facts: { reason: { code: 'no-boot' } } },
    ],
  ])('answers what came of it: %s', async (_name, outcome, expected) => {
    expect(await carryOut(new OneMachine(EMPTY, outcome))).toEqual(expected);
  });

  test('never begins without the right, nor when looking took so long that it is over', async () => {
    const machine = new OneMachine(EMPTY);
    expect(await carryOut(machine, {}, { ...GOOD, mayAct: () => false })).toBeUndefined();
    expect(await carryOut(machine, {}, { ...GOOD, signal: AbortSignal.abort('over') })).toBeUndefined();
    let isOver = false;
    const slow = new OneMachine(EMPTY, { kind: 'applied' }, () => {
      isOver = true;
    });
    expect(await carryOut(slow, {}, { ...GOOD, mayAct: () => !isOver })).toBeUndefined();
    expect([...machine.calls, ...slow.calls]).toEqual([]);
  });

  test.each<[string, Partial<ManagerTask>]>([['unknown', { kind: 'polish' }]])(
    'that is %s fails',
    async (_name, task) => {
      const machine = new OneMachine(EMPTY);
      expect(await carryOut(machine, task)).toMatchObject({ outcome: 'failed' });
      expect(machine.calls).toEqual([]);
    },
  );
});
