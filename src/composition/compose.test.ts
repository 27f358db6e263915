import { Type } from 'typebox';
import { describe, expect, test } from 'vitest';
import { defineRepresentation, noProject, wholeFleet } from '../access/index.ts';
import { schemaKind, type Kind } from '../fleet/index.ts';
import { BadComposition, compose } from './compose.ts';
import { contribute, extensionPoint, type ExtensionPoint } from './extension-point.ts';
import { hideKind, type Module } from './module.ts';

const fields = { name: Type.String() };
const THING = schemaKind('thing', Type.Object(fields));
const OTHER = schemaKind('other', Type.Object(fields));
const THING_REPRESENTATION = defineRepresentation({ kind: THING, siteOf: () => 'north', projectOf: noProject, fields });

const shown: Module = {
  name: 'shown',
  models: () => [{ kinds: [THING] }],
  representations: () => [THING_REPRESENTATION],
};

function problemsOf(...modules: readonly Module[]): readonly string[] {
  try {
    compose(modules);
    return [];
  } catch (error) {
    if (error instanceof BadComposition) return error.problems;
    throw error;
  }
}

describe('a program does not start', () => {
  test.each<[string, readonly Module[], string]>([
    [
      'with-a-kind-that-has-no-representation',
      [{ name: 'a', models: () => [{ kinds: [THING] }] }],
      'kind thing has no representation: add one, or name it in hiddenKinds',
    ],
    [
      'with-a-representation-of-a-kind-that-is-in-no-model',
      [{ name: 'a', representations: () => [THING_REPRESENTATION] }],
      'kind thing is shown or hidden, and in no model',
    ],
    [
      'with-a-kind-that-is-shown-and-hidden',
      [shown, { name: 'b', hiddenKinds: [hideKind(THING, { siteOf: wholeFleet, projectOf: noProject })] }],
      'kind thing is shown or hidden twice',
    ],
    [
      'with-two-sentences-for-one-reason',
      [
        { name: 'a', sentences: [{ late: () => 'It is late.' }] },
        { name: 'b', sentences: [{ late: () => 'It was late.' }] },
      ],
      'reason late has two sentences',
    ],
    [
      'with-a-reason-that-has-no-sentence',
      [
        { name: 'a', reasonCodes: ['late', 'lost'] },
        { name: 'b', sentences: [{ late: () => 'It is late.' }] },
      ],
      'reason lost of module a has no sentence: add it to the sentences of a module',
    ],
    ['with-two-modules-of-one-name', [{ name: 'a' }, { name: 'a' }], 'two modules are named a'],
  ])('%s', (_name, modules, problem) => {
    expect(problemsOf(...modules)).toEqual([problem]);
  });

  test('whose-error-names-every-problem', () => {
    const twice: Module = { name: 'a', models: () => [{ kinds: [THING, OTHER] }] };
    expect(() => compose([twice])).toThrow(
      'The modules do not fit together: kind thing has no representation: add one, or name it in hiddenKinds; kind other has',
    );
  });
});

describe('composed modules', () => {
  const point = extensionPoint<number>('numbers');

  test('every-kind-says-where-its-documents-belong, also-hidden-ones', () => {
    const kept: Module = {
      name: 'kept',
      models: () => [{ kinds: [OTHER] }],
      hiddenKinds: [hideKind(OTHER, { siteOf: wholeFleet, projectOf: () => 'blue' })],
    };
    const { scopeOf } = composed(shown, kept);
    expect(scopeOf(THING).siteOf({} as never, {} as never)).toBe('north');
    expect(scopeOf(OTHER).projectOf({} as never, {} as never)).toBe('blue');
    expect(() => scopeOf(schemaKind('third', Type.Object(fields)))).toThrow(
      'nothing says where documents of kind third belong',
    );
  });

  test('pass-contributions-in-the-order-of-the-modules', () => {
    const all = composed(
      { name: 'a', contributions: [contribute(point, 2, 1)] },
      { name: 'b', contributions: [contribute(point, 3)] },
    );
    expect(all.all(point)).toEqual([2, 1, 3]);
  });

  test.each<[string, readonly Module[], string]>([
    ['none', [], 'no module contributed to numbers, which takes exactly one value'],
    ['two', [{ name: 'a', contributions: [contribute(point, 1, 2)] }], '2 modules contributed to numbers'],
  ])('a-point-for-one-value-refuses-%s', (_name, modules, problem) => {
    expect(() => compose(modules).one(point)).toThrow(problem);
  });

  function composed(...modules: readonly Module[]) {
    const composition = compose(modules);
    return {
      scopeOf: (kind: Kind<string, { readonly name: string }>) => composition.scopeOf(kind),
      all: <T>(wanted: ExtensionPoint<T>) => composition.all(wanted),
    };
  }
});
