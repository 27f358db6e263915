import { expect, test } from 'vitest';
import { ChangeNotifier } from './change-notifier.ts';

function opened(): { notices: ChangeNotifier; told: () => number } {
  const notices = new ChangeNotifier();
  let times = 0;
  notices.subscribe(() => {
    times += 1;
  });
  return { notices, told: () => times };
}

const refused = (): Promise<never> => Promise.reject(new Error('gone'));

test('what-others-change-is-told-at-once', async () => {
  const { notices, told } = opened();
  notices.recordChange();
  expect(told()).toBe(1);
  await notices.trackRead(async () => notices.recordChange());
  expect(told()).toBe(2);
});

test('what-we-change-and-read-back-is-no-news, what-comes-after-is', async () => {
  const { notices, told } = opened();
  await notices.trackApply(async () => notices.recordChange());
  await notices.trackRead(async () => undefined);
  expect(told()).toBe(0);
  notices.recordChange();
  expect(told()).toBe(1);
});

test('what-is-lost-with-a-switch-is-told-whatever-goes-on', async () => {
  const { notices, told } = opened();
  await notices.trackApply(async () => notices.notify());
  expect(told()).toBe(1);
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
])('%s is told: nobody knows what is there', async (_name, fails) => {
  const { notices, told } = opened();
  await expect(fails(notices)).rejects.toThrow('gone');
  expect(told()).toBe(1);
});

test('nobody-is-told-who-does-not-listen-any-more', () => {
  const notices = new ChangeNotifier();
  let times = 0;
  const stop = notices.subscribe(() => {
    times += 1;
  });
  stop();
  notices.notify();
  expect(times).toBe(0);
});
