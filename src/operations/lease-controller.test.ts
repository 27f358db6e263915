// The lease keeper as a shell: who decides, who succeeds, and when a holder steps down.
import { describe, expect, test } from 'vitest';
import { StoreUnavailable } from '../journal/index.ts';
import { startLeading, OP, flushMicrotasks, start, whenReady, world } from './controllers-fixture.ts';
import { OPERATION } from './model.ts';

describe('the lease', () => {
  test('one-of-two-servers-decides-and-the-other-knows-where', async () => {
    const { server } = world();
    const [one, other] = [server('s1'), server('s2')];
    const stop = new AbortController();
    void one.lease.run(stop.signal);
    await flushMicrotasks();
    void other.lease.run(stop.signal);
    await flushMicrotasks();
    expect(one.journal.fence).toEqual({ lease: 'fleet', epoch: 1, holder: 's1' });
    expect(other.journal.fence).toBeUndefined();
    expect(other.lease.holder()).toMatchObject({ holder: 's1', url: 'http://s1' });
    stop.abort();
  });

  test('a-clean-stop-hands-over-at-once-with-a-higher-epoch', async () => {
    const { clock, server } = world();
    const [one, other] = [server('s1'), server('s2')];
    const [stopOne, stopOther] = [new AbortController(), new AbortController()];
    void one.lease.run(stopOne.signal);
    await flushMicrotasks();
    void other.lease.run(stopOther.signal);
    stopOne.abort();
    await flushMicrotasks();
    await clock.pass(3000);
    expect(other.journal.fence).toEqual({ lease: 'fleet', epoch: 2, holder: 's2' });
    stopOther.abort();
  });

  test('a-holder-that-cannot-reach-the-store-steps-down-when-its-time-is-over', async () => {
    const { clock, server } = world();
    const { store, journal, stop } = await startLeading(server);
    const cut = (): Promise<never> => Promise.reject(new StoreUnavailable('cut', { outcome: 'failed' }));
    Object.assign(store, { renewLease: cut, acquireLease: cut });
    await clock.pass(3000);
    expect(journal.fence).toBeDefined();
    await clock.pass(1000);
    expect(journal.fence).toBeUndefined();
    stop.abort();
  });

  test('a-holder-whose-session-ended-is-succeeded-at-once-and-commits-no-more', async () => {
    const { clock, server } = world();
    const [one, other] = [server('s1'), server('s2')];
    const stop = new AbortController();
    void one.lease.run(stop.signal);
    await flushMicrotasks();
    void other.lease.run(stop.signal);
    await flushMicrotasks();
    // It does not notice: it still believes that it decides.
    Object.assign(one.store, { renewLease: () => new Promise(() => undefined) });
    await one.store.close();
    await clock.pass(200);
    expect(other.journal.fence).toEqual({ lease: 'fleet', epoch: 2, holder: 's2' });
    expect(one.journal.fence).toMatchObject({ epoch: 1 });
    await expect(start(one.journal, true)).rejects.toThrow();
    expect(one.journal.fence).toBeUndefined();
    expect(one.journal.fleet.get(OPERATION, OP)).toBeUndefined();
    stop.abort();
  });

  test('a-holder-whose-session-ended-renews-at-once-and-keeps-deciding', async () => {
    const { clock, server } = world();
    const { store, journal, stop } = await startLeading(server);
    await clock.pass(200);
    await store.close();
    await clock.pass(200);
    const follower = server('s9');
    expect(await follower.store.acquireLease({ name: 'fleet', holder: 's9', url: '', ttlMs: 1000 })).toMatchObject({
      kind: 'refused',
      lease: { epoch: 1 },
    });
    expect(journal.fence).toMatchObject({ epoch: 1 });
    stop.abort();
  });

  test('a-renewal-that-never-answers-does-not-keep-a-holder-in-office', async () => {
    const { clock, server } = world();
    const { store, journal, stop } = await startLeading(server);
    const silent = (): Promise<never> => new Promise(() => undefined);
    Object.assign(store, { renewLease: silent, acquireLease: silent });
    for (const ms of [3000, 3000, 3000, 3000]) await clock.pass(ms);
    expect(journal.fence).toBeUndefined();
    stop.abort();
  });

  test('a-store-that-is-away-is-logged-once-in-full-then-a-line-a-minute-and-once-when-it-is-back', async () => {
    const lines: string[] = [];
    const take = (level: string) => (facts: object, message: string) => {
      const { err, ...rest } = facts as { readonly err?: Error };
      lines.push(`${level} ${message}${err === undefined ? '' : ' (stack)'} ${JSON.stringify(rest)}`);
    };
    const { clock, server } = world(whenReady, new Map(), {
      info: take('info'),
      warn: take('warn'),
      error: take('error'),
    });
    const { store, stop } = await startLeading(server);
    const { renewLease, acquireLease } = store;
    const cut = (): Promise<never> => Promise.reject(new StoreUnavailable('cut', { outcome: 'failed' }));
    Object.assign(store, { renewLease: cut, acquireLease: cut });
    for (let round = 0; round < 50; round += 1) await clock.pass(3000);
    Object.assign(store, { renewLease, acquireLease });
    for (let round = 0; round < 5; round += 1) await clock.pass(3000);
    expect(lines).toMatchInlineSnapshot(`
      [
        "info this server decides {"epoch":1}",
        "warn the store does not answer for the lease (stack) {}",
        "warn the deciding lease ran out {"epoch":1}",
        "warn the store still does not answer for the lease {"awayMs":60000,"problem":"cut"}",
        "warn the store still does not answer for the lease {"awayMs":120000,"problem":"cut"}",
        "info the store answers for the lease again {"awayMs":150000}",
        "info this server decides {"epoch":2}",
      ]
    `);
    stop.abort();
  });
});
