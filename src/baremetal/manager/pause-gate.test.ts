import { describe, expect, test } from 'vitest';
import { VirtualClock } from '../../journal/virtual-clock-fixture.ts';
import { PauseGate, pausableClock } from './pause-gate.ts';

/** Lets everything run that can. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}

describe('a manager that is paused', () => {
  test('begins no call', async () => {
    const gate = new PauseGate();
    const events: string[] = [];
    gate.pause();
    void gate.pass(async () => void events.push('called'));
    await settle();
    expect(events).toEqual([]);
    gate.resume();
    await settle();
    expect(events).toEqual(['called']);
  });

  test.each(['an answer', 'a failure'])('receives %s of the call under way once it is resumed', async (what) => {
    const gate = new PauseGate();
    const call = Promise.withResolvers<string>();
    const received: string[] = [];
    const result = gate.pass(() => call.promise);
    void result.then(
      (answer) => received.push(answer),
      (error: unknown) => received.push(String(error)),
    );
    await settle();
    gate.pause();
    if (what === 'an answer') call.resolve(what);
    else call.reject(what);
    await settle();
    expect(received).toEqual([]);
    gate.resume();
    await settle();
    expect(received).toEqual([what]);
  });

  test('is paused again before it has moved', async () => {
    const gate = new PauseGate();
    const events: string[] = [];
    gate.pause();
    void gate.pass(async () => void events.push('called'));
    await settle();
    gate.resume();
    gate.pause();
    await settle();
    expect(events).toEqual([]);
  });

  test('sleeps on, while time passes', async () => {
    const clock = new VirtualClock();
    const gate = new PauseGate();
    const own = pausableClock(clock, gate);
    let isAwake = false;
    void own.sleep(1000).then(() => (isAwake = true));
    await settle();
    gate.pause();
    await clock.pass(5000);
    expect([isAwake, own.nowMs() - clock.nowMs()]).toEqual([false, 0]);
    gate.resume();
    await clock.pass(0);
    expect(isAwake).toBe(true);
  });
});
