import { expect, test } from 'vitest';
import { ManualClock } from '../../network/back-ends/clock-fixture.ts';
import { compile } from '../compile/compile.ts';
import { view } from '../compile/dataplane-view-fixture.ts';
import type { Flow, SwitchChange } from '../switch/switch.ts';
import { findIdleFlow, waitForRevalidation } from './revalidation-driver.ts';

/** A switch that revalidates its cache for a while whenever that is triggered, and wakes all waiters at the end. */
class Sweeping {
  readonly clock = new ManualClock();
  readonly started: number[] = [];
  triggers = 0;
  readonly #waiting: (() => void)[] = [];
  #again = false;
  #busy = false;
  readonly #takesMs: number;

  constructor(takesMs: number) {
    this.#takesMs = takesMs;
  }

  readonly waitForRevalidators = (): Promise<void> => new Promise((resolve) => this.#waiting.push(resolve));

  readonly triggerRevalidation = async (): Promise<void> => {
    this.triggers += 1;
    if (this.#busy) this.#again = true;
    else void this.sweep();
  };

  async sweep(): Promise<void> {
    this.#busy = true;
    this.started.push(this.clock.nowMs());
    await this.clock.sleep(this.#takesMs);
    for (const finish of this.#waiting.splice(0)) finish();
    this.#busy = false;
    if (!this.#again) return;
    this.#again = false;
    await this.sweep();
  }
}

test.each([1, 30, 400])('one that began before the change is not enough: %i ms each', async (takesMs) => {
  const it = new Sweeping(takesMs);
  void it.sweep();
  await it.clock.advance(takesMs / 2);
  const changedMs = it.clock.nowMs();
  const inForce = async (): Promise<number> => {
    await waitForRevalidation(it);
    return it.clock.nowMs();
  };
  const [overMs] = await Promise.all([inForce(), it.clock.advance(5000)]);
  const whole = it.started.filter((ms) => ms >= changedMs && ms + takesMs <= overMs);
  expect(whole.length).toBeGreaterThanOrEqual(1);
  const triggers = it.triggers;
  await it.clock.advance(10_000);
  expect(it.triggers).toBe(triggers);
});

test('a-switch-that-is-done-at-once-is-made-to-begin-once-for-each-wait: it was asked to tell before', async () => {
  const clock = new ManualClock();
  const waiting: (() => void)[] = [];
  let triggers = 0;
  // The waiter is registered a moment later; a revalidation that is triggered before that has no waiter to wake.
  const waitForRevalidators = async (): Promise<void> => {
    for (let hops = 0; hops < 5; hops += 1) await Promise.resolve();
    await new Promise<void>((resolve) => waiting.push(resolve));
  };
  const triggerRevalidation = async (): Promise<void> => {
    triggers += 1;
    for (const finish of waiting.splice(0)) finish();
  };
  await Promise.all([waitForRevalidation({ clock, waitForRevalidators, triggerRevalidation }), clock.advance(1000)]);
  expect(triggers).toBe(2);
});

test('whoever-cannot-wait-does-not-nudge-for-ever', async () => {
  const it = new Sweeping(1);
  const waitForRevalidators = (): Promise<never> => Promise.reject(new Error('the switch is gone'));
  await expect(
    waitForRevalidation({ clock: it.clock, waitForRevalidators, triggerRevalidation: it.triggerRevalidation }),
  ).rejects.toThrow('the switch is gone');
  await it.clock.advance(10_000);
  expect(it.triggers).toBeLessThanOrEqual(1);
});

test('a-flow-that-does-nothing-and-stays-is-there-on-any-switch-of-ours, and-none-on-one-that-is-wiped', () => {
  const { contents } = compile(view());
  const none = { ...contents, flows: [] };
  const puts = contents.flows.map((flow): SwitchChange => ({ kind: 'put-flow', flow }));
  const removes = contents.flows.map((flow: Flow): SwitchChange => ({ kind: 'remove-flow', flow }));
  expect(findIdleFlow(none, puts)?.actions).toBe('drop');
  expect(findIdleFlow(contents, [])?.actions).toBe('drop');
  expect(findIdleFlow(contents, removes)).toBeUndefined();
  // One that does something from now on is not what it was.
  const turned = contents.flows.map((flow): SwitchChange => ({
    kind: 'put-flow',
    flow: { ...flow, actions: 'IN_PORT' },
  }));
  expect(findIdleFlow(contents, turned)).toBeUndefined();
  expect(findIdleFlow(contents, [...puts, ...removes])).toBeUndefined();
  expect(findIdleFlow(contents, [...removes, ...puts])?.actions).toBe('drop');
  const theirs = contents.flows.map((flow) => ({ ...flow, cookie: '0000000000000001' }));
  expect(findIdleFlow({ ...contents, flows: theirs }, [])).toBeUndefined();
});
