import { expect, test } from 'vitest';
import { Notices } from './notices.ts';

function opened(): { notices: Notices; told: () => number } {
  const notices = new Notices();
  let times = 0;
  notices.on(() => {
    times += 1;
  });
  return { notices, told: () => times };
}

const refused = (): Promise<never> => Promise.reject(new Error('gone'));

test('what-others-change-is-told-at-once', async () => {
  const { notices, told } = opened();
  notices.noticed();
  expect(told()).toBe(1);
  await notices.read(async () => notices.noticed());
  expect(told()).toBe(2);
});

test('what-we-change-and-read-back-is-no-news, what-comes-after-is', async () => {
  const { notices, told } = opened();
  await notices.apply(async () => notices.noticed());
  await notices.read(async () => undefined);
  expect(told()).toBe(0);
  notices.noticed();
  expect(told()).toBe(1);
});

test('what-is-lost-with-a-switch-is-told-whatever-goes-on', async () => {
  const { notices, told } = opened();
  await notices.apply(async () => notices.tell());
  expect(told()).toBe(1);
});

test.each<readonly [string, (notices: Notices) => Promise<unknown>]>([
  [
    'a-change-that-fails',
    (notices) =>
      notices.apply(() => {
        notices.noticed();
        return refused();
      }),
  ],
  [
    'a-change-that-cannot-be-read-back',
    async (notices) => {
      await notices.apply(async () => notices.noticed());
      return notices.read(refused);
    },
  ],
])('%s is told: nobody knows what is there', async (_name, fails) => {
  const { notices, told } = opened();
  await expect(fails(notices)).rejects.toThrow('gone');
  expect(told()).toBe(1);
});

test('nobody-is-told-who-does-not-listen-any-more', () => {
  const notices = new Notices();
  let times = 0;
  const stop = notices.on(() => {
    times += 1;
  });
  stop();
  notices.tell();
  expect(times).toBe(0);
});
