import { expect, test } from 'vitest';
import { VirtualClock } from '../journal/virtual-clock-fixture.ts';
import type { TaskHandler } from '../operations/index.ts';
import { BadComposition } from './compose.ts';
import { composeTaskHandlers, type NodeModule } from './node-module.ts';

const ENVIRONMENT = { clock: new VirtualClock() };
const done: TaskHandler = () => ({ outcome: 'done' });
const handles = (name: string, ...kinds: readonly string[]): NodeModule => ({
  name,
  taskHandlers: () => Object.fromEntries(kinds.map((kind) => [kind, done])),
});

test('folds-the-handlers-of-all-modules', () => {
  const handlers = composeTaskHandlers([handles('a', 'x', 'y'), handles('b', 'z')], ENVIRONMENT);
  expect([...handlers]).toEqual([
    ['x', done],
    ['y', done],
    ['z', done],
  ]);
});

test('hands-every-module-what-it-may-use', () => {
  const seen: unknown[] = [];
  const one: NodeModule = {
    name: 'a',
    taskHandlers: (environment) => {
      seen.push(environment);
      return {};
    },
  };
  composeTaskHandlers([one], ENVIRONMENT);
  expect(seen).toEqual([ENVIRONMENT]);
});

test('refuses-two-handlers-of-one-kind-and-names-both-modules', () => {
  const clashing = [handles('a', 'x', 'y'), handles('b', 'z', 'y'), handles('c', 'z')];
  expect(() => composeTaskHandlers(clashing, ENVIRONMENT)).toThrow(
    new BadComposition(['tasks of kind y are handled by a and b', 'tasks of kind z are handled by b and c']),
  );
});
