import { Type } from 'typebox';
import { expect, it } from 'vitest';
import { idOf, isId } from './document.ts';
import { Fleet } from './fleet.ts';
import { listenToMarks, mark } from './mark.ts';
import { Registry } from './registry.ts';
import { setting, SETTING, valueOf } from './setting.ts';

it('two modules may not register the same name', () => {
  const model = { kinds: [SETTING] };
  expect(() => new Registry([model, model])).toThrow('two modules register "setting"');
});

it('a setting has its default until it is changed', () => {
  const patience = setting('patience', { about: 'How long.', schema: Type.Integer({ minimum: 1 }), defaultValue: 3 });
  const fleet = new Fleet(new Registry([{ kinds: [SETTING] }]));
  expect(valueOf(fleet, patience)).toBe(3);
  const doc = { value: 8, changedBy: 'ana', changedAtMs: 1 };
  expect(SETTING.check(doc)).toBeUndefined();
  fleet.apply(1, [{ kind: 'setting', id: 'patience', doc }]);
  expect(valueOf(fleet, patience)).toBe(8);
  expect(patience.problems(0)).not.toEqual([]);
});

it.each([
  ['c1', true],
  ['rack-7.c1:a@b_c', true],
  ['a'.repeat(200), true],
  ['a'.repeat(201), false],
  ['', false],
  ['.hidden', false],
  ['a/b', false],
  ['a b', false],
  ['ä', false],
])('the id "%s": %s', (text, good) => {
  expect(isId(text)).toBe(good);
});

it('a typed id is its text', () => {
  expect(idOf(SETTING, 'patience')).toBe('patience');
});

it('a mark is reported only while there is a listener', () => {
  const received: string[] = [];
  mark('before');
  listenToMarks((name) => received.push(name));
  mark('meanwhile');
  listenToMarks(undefined);
  mark('after');
  expect(received).toEqual(['meanwhile']);
});
