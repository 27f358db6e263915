import { expect, test } from 'vitest';
import { batches, run, runAll } from './command.ts';

test('commands-of-ip-in-one-namespace-share-a-process', () => {
  const commands = [
    ['ip', 'netns', 'add', 'a'],
    ['ip', 'link', 'add', 'x', 'type', 'veth'],
    ['ip', '-n', 'a', 'link', 'set', 'lo', 'up'],
    ['ip', '-n', 'a', 'addr', 'add', '10.0.0.1/24', 'dev', 'x'],
    ['ip', '-n', 'b', 'link', 'set', 'lo', 'up'],
    ['ip', 'netns', 'exec', 'a', 'ethtool', '-K', 'x'],
    ['ip', 'netns', 'exec', 'a', 'ethtool', '-K', 'y'],
    ['sysctl', '-a'],
  ];
  expect(batches(commands)).toEqual([
    { program: ['ip'], lines: ['netns add a', 'link add x type veth'] },
    { program: ['ip', '-n', 'a'], lines: ['link set lo up', 'addr add 10.0.0.1/24 dev x'] },
    { program: ['ip', '-n', 'b'], lines: ['link set lo up'] },
    { program: ['ip', 'netns', 'exec', 'a', 'ethtool', '-K', 'x'], lines: [] },
    { program: ['ip', 'netns', 'exec', 'a', 'ethtool', '-K', 'y'], lines: [] },
    { program: ['sysctl', '-a'], lines: [] },
  ]);
});

test('the-error-of-a-failed-program-has-its-command-and-its-output', async () => {
  await expect(run(['sh', '-c', 'echo no such thing >&2; exit 3'])).rejects.toThrow(/exit 3: no such thing$/);
  expect(await run(['cat'], 'text')).toBe('text');
});

test('nothing-is-run-after-a-stop', async () => {
  const stopped = AbortSignal.abort(new Error('stop'));
  await expect(runAll([['false']], stopped)).rejects.toThrow('stop');
});
