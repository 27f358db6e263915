import { describe, expect, test } from 'vitest';
import type { Caller } from '../../access/index.ts';
import { compileChecker, idOf } from '../../fleet/index.ts';
import { OPERATION } from '../../operations/index.ts';
import { toCreateCommand, NEW_INSTANCES, type NewInstances } from './create-command.ts';
import { INSTANCE_SCHEMA } from '../model.ts';

const ANN: Caller = { name: 'ann', role: 'operator' };

function command(body: NewInstances, caller: Caller = ANN) {
  let drawn = 0;
  const newId = (prefix: string): string => {
    drawn += 1;
    return `${prefix}-${String(drawn).padStart(20, '0')}`;
  };
  return toCreateCommand(body, { caller, nowMs: 5, hasCredentials: true, operation: idOf(OPERATION, 'op-1'), newId });
}

describe('requesting instances', () => {
  test('what-is-not-said-has-its-default', () => {
    expect(command({ name: 'web', flavor: 'small' })).toEqual({
      name: 'web',
      count: 1,
      minCount: 1,
      isMinimumNamed: false,
      flavor: 'small',
      project: 'default',
      place: {},
      networks: 'auto',
      operation: 'op-1',
      portIds: ['port-00000000000000000001'],
      by: 'ann',
      admin: false,
      hasCredentials: true,
      isProjectScoped: false,
      nowMs: 5,
      deadlineMs: 3_600_000,
    });
  });

  test('what-is-said-goes-where-it-belongs', () => {
    const body: NewInstances = {
      name: 'web',
      flavor: 'small',
      count: 3,
      minCount: 2,
      networks: [{ network: 'lan' }, { network: 'lan', tag: 'b' }],
      image: 'img',
      imageProperties: { architecture: 'x86_64' },
      project: 'shop',
      site: 'north',
      zone: 'a',
      aggregates: ['x'],
      requiredTraits: ['t'],
      forbiddenTraits: ['u'],
      group: 'g',
      host: 'c1',
      securityGroups: ['sg'],
      attempts: 5,
      deadlineMs: 10_000,
      reason: 'sale',
    };
    expect(compileChecker(NEW_INSTANCES)(body)).toEqual([]);
    const made = command(body, { ...ANN, role: 'admin' });
    expect(made).toMatchObject({ count: 3, minCount: 2, image: 'img', project: 'shop', attemptsMax: 5, why: 'sale' });
    expect(made).toMatchObject({ isMinimumNamed: true, imageProperties: { architecture: 'x86_64' } });
    expect(made).toMatchObject({
      place: {
        site: 'north',
        zone: 'a',
        aggregates: ['x'],
        requiredTraits: ['t'],
        forbiddenTraits: ['u'],
        group: 'g',
        onlyHost: 'c1',
      },
      admin: true,
      deadlineMs: 10_000,
    });
    expect('portIds' in made && new Set(made.portIds).size).toBe(6);
  });

  test.each([
    ['a-list-of-none', [], 1],
    ['none', 'none', 1],
    ['three', [{ network: 'a' }, { network: 'b' }, { port: 'p' }], 3],
  ] as const)('ids-for-every-nic: %s', (_name, networks, ids) => {
    const made = command({ name: 'web', flavor: 'small', networks: networks as NewInstances['networks'] & object });
    expect('portIds' in made && made.portIds).toHaveLength(ids);
  });

  test('a-name-is-made-of-the-flavor, short enough to be numbered', () => {
    const flavor = 'f'.repeat(63);
    const made = command({ flavor, count: 200 });
    const name = 'name' in made ? made.name : '';
    expect(name).toMatch(/^f+-0+1$/);
    expect(compileChecker(INSTANCE_SCHEMA.properties.name)(`${name}-200`)).toEqual([]);
  });

  test('a-site-bound-caller-asks-in-its-own-site', () => {
    const caller: Caller = { ...ANN, site: 'north' };
    expect(command({ flavor: 'small' }, caller)).toMatchObject({ place: { site: 'north' } });
    expect(command({ flavor: 'small', site: 'north' }, caller)).toMatchObject({ place: { site: 'north' } });
  });

  test.each<[string, NewInstances, Caller, { code: string; field: string }]>([
    [
      'more-at-least-than-asked',
      { flavor: 's', count: 2, minCount: 3 },
      ANN,
      { code: 'minimum-above-count', field: '/minCount' },
    ],
    [
      'no-room-for-the-number',
      { name: 'n'.repeat(62), flavor: 's', count: 2 },
      ANN,
      { code: 'name-too-long', field: '/name' },
    ],
    ['another-site', { flavor: 's', site: 'south' }, { ...ANN, site: 'north' }, { code: 'other-site', field: '/site' }],
  ])('%s is refused', (_name, body, caller, refusal) => {
    expect(command(body, caller)).toMatchObject(refusal);
  });
});
