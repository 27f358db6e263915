// The contract suite of machine drivers: every implementation passes all of it. Where machines cannot check epochs, the suite says what is different, and
// what is not. That of inventories is beside it.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type {
  InventoryCallOptions,
  MachineAction,
  MachineCall,
  MachineDriver,
  MachineStatus,
  NodeFence,
} from './inventory.ts';

/**
 * Which epochs are compared: every one; that of the claim alone, where nothing has managers that take over; none. Most machines compare none.
 */
export type EpochCheck = 'every' | 'of-claims' | 'none';

/** A machine for the suite, in an inventory of its own. */
export interface MachineHarness {
  readonly driver: MachineDriver;
  /** Nodes that no instance has: at least two. */
  readonly nodes: readonly string[];
  /** Has the control plane, and the inventory where it keeps that, see a node as this instance's under this epoch. */
  entitle(fence: NodeFence): Promise<void>;
  /** The next call of this action fails in the machine; absent where machines cannot be made to fail. */
  failNext?(action: MachineAction): Promise<void>;
  /** How often a deploy or a cleaning was really begun on a node. */
  countBegun(node: string, action: 'deploy' | 'clean'): Promise<number>;
  close(): Promise<void>;
}

export interface MachineContract {
  readonly name: string;
  readonly start: () => Promise<MachineHarness>;
  readonly epochs: EpochCheck;
  /** Whether its machines can be made to fail. */
  readonly fails?: boolean;
  /** One that its machines can be deployed with. */
  readonly image?: string;
  readonly timeoutMs?: number;
}

const NEVER: InventoryCallOptions = { signal: new AbortController().signal };

interface Called extends Partial<NodeFence> {
  readonly args?: MachineCall['args'];
}

class MachineCaller {
  readonly harness: MachineHarness;
  readonly node: string;

  constructor(harness: MachineHarness) {
    this.harness = harness;
    this.node = harness.nodes[0] as string;
  }

  fence(nodeEpoch: number, instance = 'a'): NodeFence {
    return { node: this.node, nodeEpoch, instance };
  }

  /** As instance `a` under epoch 5, unless said otherwise. */
  async call(action: MachineAction, { args = {}, ...fence }: Called = {}): Promise<string> {
    const call = { ...this.fence(5), ...fence, action, manager: 'm1', args };
    const { kind } = await this.harness.driver.carryOut(call, NEVER);
    return kind;
  }

  async status(instance = 'a'): Promise<MachineStatus> {
    return this.harness.driver.inspect(this.fence(5, instance), NEVER);
  }
}

const IMAGE_DEFAULT = 'debian';

export function machineContract({
  name,
  start,
  epochs,
  fails = true,
  image = IMAGE_DEFAULT,
  timeoutMs = 5000,
}: MachineContract): void {
  const imageArgs = { image };
  const withCaller = async (run: (caller: MachineCaller) => Promise<void>): Promise<void> => {
    const harness = await start();
    try {
      const caller = new MachineCaller(harness);
      await harness.entitle(caller.fence(5));
      await run(caller);
    } finally {
      await harness.close();
    }
  };
  const check = (title: string, run: (caller: MachineCaller) => Promise<void>): void =>
    test(title, () => withCaller(run), timeoutMs);

  describe(`machine driver: ${name}`, () => {
    check('a-deploy-is-done-when-it-is-answered, and-once', async (caller) => {
      expect(await caller.call('deploy', { args: imageArgs })).toBe('applied');
      expect(await caller.status()).toEqual({ state: 'deployed', instance: 'a', power: 'on' });
      expect(await caller.call('deploy', { args: imageArgs })).toBe('already');
      expect(await caller.harness.countBegun(caller.node, 'deploy')).toBe(1);
    });

    check('two-calls-at-once-deploy-once', async (caller) => {
      const both = await Promise.all([
        caller.call('deploy', { args: imageArgs }),
        caller.call('deploy', { args: imageArgs }),
      ]);
      expect(both.toSorted()).toEqual(['already', 'applied']);
      expect(await caller.harness.countBegun(caller.node, 'deploy')).toBe(1);
    });

    check('another-instance-is-stale, without-effect', async (caller) => {
      await caller.call('deploy', { args: imageArgs });
      for (const action of ['power-off', 'clean', 'deploy', 'reboot'] as const)
        expect([action, await caller.call(action, { instance: 'b', nodeEpoch: 6 })]).toEqual([action, 'stale']);
      expect(await caller.status()).toEqual({ state: 'deployed', instance: 'a', power: 'on' });
    });

    check('an-older-epoch-is-stale, without-effect; a-blind-machine-does-it', async (caller) => {
      await caller.call('deploy', { args: imageArgs });
      const answered = await caller.call('power-off', { nodeEpoch: 4 });
      const power = epochs === 'none' ? 'off' : 'on';
      expect([answered, await caller.status()]).toEqual([
        epochs === 'none' ? 'applied' : 'stale',
        { state: 'deployed', instance: 'a', power },
      ]);
    });

    check('a-higher-epoch-ends-the-right-of-the-one-before', async (caller) => {
      await caller.call('deploy', { args: imageArgs });
      await caller.harness.entitle(caller.fence(6));
      expect(await caller.call('power-off', { nodeEpoch: 6 })).toBe('applied');
      expect(await caller.call('power-on', { nodeEpoch: 5 })).toBe(epochs === 'every' ? 'stale' : 'applied');
    });

    check('power: on-and-off, a-repetition-does-nothing', async (caller) => {
      await caller.call('deploy', { args: imageArgs });
      expect(await caller.call('power-on')).toBe('already');
      expect(await caller.call('power-off')).toBe('applied');
      expect(await caller.call('power-off')).toBe('already');
      expect((await caller.status()).power).toBe('off');
      expect(await caller.call('power-on')).toBe('applied');
      expect((await caller.status()).power).toBe('on');
    });

    check('a-reboot-ends-with-the-power-on, and-the-same-task-does-it-once', async (caller) => {
      await caller.call('deploy', { args: imageArgs });
      expect(await caller.call('reboot', { args: { task: 't1' } })).toBe('applied');
      expect(await caller.call('reboot', { args: { task: 't1' } })).toBe('already');
      expect(await caller.call('reboot', { args: { task: 't2' } })).toBe('applied');
      expect((await caller.status()).power).toBe('on');
    });

    check('connecting-twice-does-it-once, and-disconnecting', async (caller) => {
      const args = { ports: [{ port: 'p1', serial: 1, mac: '52:54:00:00:00:01', segment: 's1' }] };
      expect(await caller.call('connect', { args })).toBe('applied');
      expect(await caller.call('connect', { args })).toBe('already');
      expect(await caller.call('disconnect')).toBe('applied');
      expect(await caller.call('disconnect')).toBe('already');
    });

    check('cleaning-leaves-nothing, and-a-repetition-does-nothing', async (caller) => {
      await caller.call('deploy', { args: imageArgs });
      expect(await caller.call('clean')).toBe('applied');
      const { state, instance } = await caller.status();
      expect([state, instance]).toEqual(['empty', undefined]);
      expect(await caller.call('clean')).toBe('already');
      expect(await caller.harness.countBegun(caller.node, 'clean')).toBe(1);
    });

    check('the-next-instance-gets-what-was-cleaned, the-one-before-gets-it-never', async (caller) => {
      await caller.call('deploy', { args: imageArgs });
      await caller.call('clean');
      await caller.harness.entitle(caller.fence(7, 'b'));
      expect(await caller.call('deploy', { instance: 'b', nodeEpoch: 7, args: imageArgs })).toBe('applied');
      expect(await caller.call('deploy', { args: imageArgs })).toBe('stale');
      expect((await caller.status('b')).instance).toBe('b');
    });

    check('a-clean-machine-remembers-the-epoch', async (caller) => {
      await caller.call('deploy', { args: imageArgs });
      await caller.call('clean');
      expect(await caller.call('deploy', { nodeEpoch: 4, args: imageArgs })).toBe(
        epochs === 'none' ? 'applied' : 'stale',
      );
    });

    if (fails) {
      check('a-deploy-that-fails-says-so, and-the-machine-can-be-cleaned', async (caller) => {
        await caller.harness.failNext?.('deploy');
        expect(await caller.call('deploy', { args: imageArgs })).toBe('failed');
        expect((await caller.status()).state).toBe('failed');
        expect(await caller.call('clean')).toBe('applied');
        expect((await caller.status()).state).toBe('empty');
      });

      check('a-cleaning-that-fails-can-be-repeated', async (caller) => {
        await caller.call('deploy', { args: imageArgs });
        await caller.harness.failNext?.('clean');
        expect(await caller.call('clean')).toBe('failed');
        expect((await caller.status()).state).toBe('failed');
        expect(await caller.call('clean')).toBe('applied');
      });
    }

    check('a-call-ends-when-its-caller-has-lost-the-right', async (caller) => {
      const call = { ...caller.fence(5), action: 'deploy', manager: 'm1', args: imageArgs } as const;
      await expect(caller.harness.driver.carryOut(call, { signal: AbortSignal.abort() })).rejects.toThrow();
    });

    check('nothing-is-done-once-the-caller-knows-that-it-may-not', async (caller) => {
      const call = { ...caller.fence(5), action: 'deploy', manager: 'm1', args: { image } } as const;
      const how = { ...NEVER, mayAct: () => false };
      await expect(caller.harness.driver.carryOut(call, how)).rejects.toThrow();
      expect(await caller.harness.countBegun(caller.node, 'deploy')).toBe(0);
    });

    check('machines-do-not-touch-each-other', async (caller) => {
      const [, other = ''] = caller.harness.nodes;
      await caller.call('deploy', { args: imageArgs });
      const status = await caller.harness.driver.inspect({ node: other, nodeEpoch: 1, instance: 'b' }, NEVER);
      expect([status.state, status.instance]).toEqual(['empty', undefined]);
    });
  });
}

const STEP = fc.record({
  action: fc.constantFrom<MachineAction>('deploy', 'clean', 'power-on', 'power-off', 'reboot'),
  /** Which of two instances, each with its epoch; the second comes after the first. */
  late: fc.boolean(),
});

/** For machines that check epochs, and that are fast enough to be played with. */
export function machineProperties({ name, start }: Pick<MachineContract, 'name' | 'start'>): void {
  test(`never: ${name} does anything for an instance once the next one was there`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(STEP, { minLength: 1, maxLength: 20 }), async (steps) => {
        const harness = await start();
        const caller = new MachineCaller(harness);
        await harness.entitle(caller.fence(5));
        let hasNext = false;
        for (const { action, late } of steps) {
          const fence = late ? { instance: 'b', nodeEpoch: 7 } : { instance: 'a', nodeEpoch: 5 };
          if (late && !hasNext) {
            // Only what is clean is given to another.
            await caller.call('clean');
            await harness.entitle(caller.fence(7, 'b'));
            hasNext = true;
          }
          const kind = await caller.call(action, { ...fence, args: { image: IMAGE_DEFAULT, task: 't' } });
          const { instance } = await caller.status('b');
          if (hasNext) expect(instance).not.toBe('a');
          if (hasNext && !late) expect(['stale', 'already']).toContain(kind);
        }
        await harness.close();
      }),
      { numRuns: 60 },
    );
  });
}
