import { expect, test } from 'vitest';
import { HandClock } from '../../network/clock-fixture.ts';
import { compile } from '../compile.ts';
import { view } from '../dataplane-fixture.ts';
import type { Flow, SwitchChange } from '../switch.ts';
import { idleFlow, untilInForce } from './in-force-driver.ts';

/** A switch that goes through its cache for a while whenever it is made to, and tells who waits when it is at the end. */
class Sweeping {
  readonly clock = new HandClock();
  readonly begun: number[] = [];
  nudges = 0;
  readonly #waiting: (() => void)[] = [];
  #again = false;
  #busy = false;
  readonly #takesMs: number;

  constructor(takesMs: number) {
    this.#takesMs = takesMs;
  }

  readonly wait = (): Promise<void> => new Promise((resolve) => this.#waiting.push(resolve));

  readonly nudge = async (): Promise<void> => {
    this.nudges += 1;
    if (this.#busy) this.#again = true;
    else void this.sweep();
  };

  async sweep(): Promise<void> {
    this.#busy = true;
    this.begun.push(this.clock.nowMs());
    await this.clock.sleep(this.#takesMs);
    for (const tell of this.#waiting.splice(0)) tell();
    this.#busy = false;
    if (!this.#again) return;
    this.#again = false;
    await this.sweep();
  }
}

test.each([1, 30, 400])('one that began before the change is not enough: %i ms each', async (takesMs) => {
  const it = new Sweeping(takesMs);
  void it.sweep();
  await it.clock.pass(takesMs / 2);
  const changedMs = it.clock.nowMs();
  const inForce = async (): Promise<number> => {
    await untilInForce(it);
    return it.clock.nowMs();
  };
  const [overMs] = await Promise.all([inForce(), it.clock.pass(5000)]);
  const whole = it.begun.filter((ms) => ms >= changedMs && ms + takesMs <= overMs);
  expect(whole.length).toBeGreaterThanOrEqual(1);
  const nudges = it.nudges;
  await it.clock.pass(10_000);
  expect(it.nudges).toBe(nudges);
});

test('a-switch-that-is-done-at-once-is-made-to-begin-once-for-each-wait: it was asked to tell before', async () => {
  const clock = new HandClock();
  const waiting: (() => void)[] = [];
  let nudges = 0;
  // The question is on its way for a moment; whoever is nudged before it comes has nobody to tell.
  const wait = async (): Promise<void> => {
    for (let hops = 0; hops < 5; hops += 1) await Promise.resolve();
    await new Promise<void>((resolve) => waiting.push(resolve));
  };
  const nudge = async (): Promise<void> => {
    nudges += 1;
    for (const tell of waiting.splice(0)) tell();
  };
  await Promise.all([untilInForce({ clock, wait, nudge }), clock.pass(1000)]);
  expect(nudges).toBe(2);
});

test('whoever-cannot-wait-does-not-nudge-for-ever', async () => {
  const it = new Sweeping(1);
  const wait = (): Promise<never> => Promise.reject(new Error('the switch is gone'));
  await expect(untilInForce({ clock: it.clock, wait, nudge: it.nudge })).rejects.toThrow('the switch is gone');
  await it.clock.pass(10_000);
  expect(it.nudges).toBeLessThanOrEqual(1);
});

test('a-flow-that-does-nothing-and-stays-is-there-on-any-switch-of-ours, and-none-on-one-that-is-wiped', () => {
  const { contents } = compile(view());
  const none = { ...contents, flows: [] };
  const puts = contents.flows.map((flow): SwitchChange => ({ kind: 'put-flow', flow }));
  const removes = contents.flows.map((flow: Flow): SwitchChange => ({ kind: 'remove-flow', flow }));
  expect(idleFlow(none, puts)?.actions).toBe('drop');
  expect(idleFlow(contents, [])?.actions).toBe('drop');
  expect(idleFlow(contents, removes)).toBeUndefined();
  // One that does something from now on is not what it was.
  const turned = contents.flows.map((flow): SwitchChange => ({
    kind: 'put-flow',
    flow: { ...flow, actions: 'IN_PORT' },
  }));
  expect(idleFlow(contents, turned)).toBeUndefined();
  expect(idleFlow(contents, [...puts, ...removes])).toBeUndefined();
  expect(idleFlow(contents, [...removes, ...puts])?.actions).toBe('drop');
  const theirs = contents.flows.map((flow) => ({ ...flow, cookie: '0000000000000001' }));
  expect(idleFlow({ ...contents, flows: theirs }, [])).toBeUndefined();
});
