import { expect, test } from 'vitest';
import { ChangeNotifier } from './change-notifier.ts';

function opened(): { notices: ChangeNotifier; timesNotified: () => number } {
  const notices = new ChangeNotifier();
  let times = 0;
  notices.subscribe(() => {
    times += 1;
  });
  return { notices, timesNotified: () => times };
}

const refused = (): Promise<never> => Promise.reject(new Error('gone'));

test('what-others-change-is-reported-at-once', async () => {
  const { notices, timesNotified: countNotices } = opened();
  notices.recordChange();
  expect(countNotices()).toBe(1);
  await notices.trackRead(async () => notices.recordChange());
  expect(countNotices()).toBe(2);
});

test('what-we-change-and-read-back-is-no-news, what-comes-after-is', async () => {
  const { notices, timesNotified: countNotices } = opened();
  await notices.trackApply(async () => notices.recordChange());
  await notices.trackRead(async () => undefined);
  expect(countNotices()).toBe(0);
  notices.recordChange();
  expect(countNotices()).toBe(1);
});

test('what-is-lost-with-a-switch-is-reported-whatever-goes-on', async () => {
  const { notices, timesNotified: countNotices } = opened();
  await notices.trackApply(async () => notices.notify());
  expect(countNotices()).toBe(1);
});

test.each<readonly [string, (notices: ChangeNotifier) => Promise<unknown>]>([
  [
    'a-change-that-fails',
    (notices) =>
      notices.trackApply(() => {
        notices.recordChange();
        return refused();
      }),
  ],
  [
    'a-change-that-cannot-be-read-back',
    async (notices) => {
      await notices.trackApply(async () => notices.recordChange());
      return notices.trackRead(refused);
    },
  ],
])('%s is reported: what is there is unknown', async (_name, fails) => {
  const { notices, timesNotified: countNotices } = opened();
  await expect(fails(notices)).rejects.toThrow('gone');
  expect(countNotices()).toBe(1);
});

test('a-listener-that-unsubscribed-is-not-called', () => {
  const notices = new ChangeNotifier();
  let times = 0;
  const stop = notices.subscribe(() => {
    times += 1;
  });
  stop();
  notices.notify();
  expect(times).toBe(0);
});
