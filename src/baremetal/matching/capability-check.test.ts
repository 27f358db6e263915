import { describe, expect, test } from 'vitest';
import { customClassOf, isTruthy, parseCapabilities } from './capabilities.ts';
import { holds, parseCapabilityCheck } from './capability-check.ts';

/** The requirement, the value, and whether it holds. */
const HOLDS: readonly (readonly [asked: string, value: string, holds: boolean])[] = [
  ['uefi', 'uefi', true],
  ['uefi', 'UEFI', false],
  ['= 8', '16', true],
  ['= 8', '8', true],
  ['= 8', '4', false],
  ['=8', '8.5', true],
  ['= 8', 'many', false],
  ['= 8', '', false],
  ['== 8', '8.0', true],
  ['== 8', '16', false],
  ['!= 8', '9', true],
  ['!= 8', 'x', false],
  ['>= 8', '8', true],
  ['>= 8', '7', false],
  ['<= 8', '8', true],
  ['<= 8', '9', false],
  ['= -1e3', '-999', true],
  ['s== 8', '8', true],
  ['s== 8', '8.0', false],
  ['s!= a', 'b', true],
  ['s!= a', 'a', false],
  ['s< 12', '2', false],
  ['s< 3', '2', true],
  ['s<= 2', '2', true],
  ['s> 12', '2', true],
  ['s> 2', '2', false],
  ['s>= 2', '2', true],
  ['s>= 3', '2', false],
  ['<in> ef', 'uefi', true],
  ['<in> bios', 'uefi', false],
  ['<all-in> aes mmx', "['aes', 'mmx', 'aux']", true],
  ['<all-in> aes <all-in> mmx', 'mmx aes', true],
  ['<all-in> aes mm', 'aes mmx', false],
  ['<or> a <or> b', 'b', true],
  ['<or> a <or> b', 'c', false],
  ['<or> a', 'a', true],
  ['software', 'software', true],
];

test.each(HOLDS)('%s on "%s" holds: %s', (asked, value, expected) => {
  const wanted = parseCapabilityCheck(asked);
  if (wanted.kind === 'malformed') throw new Error(wanted.message);
  expect(holds(wanted, value)).toBe(expected);
});

test.each([
  ['> 2', 'must not begin with ">", which is no operator'],
  ['< 2', 'must not begin with "<"'],
  ['>2', 'must not begin with ">"'],
  ['=> 2', 'must not begin with "=>"'],
  ['s= 2', 'must not begin with "s="'],
  ['<near> 2', 'must not begin with "<near>"'],
  ['= many', 'must have a number after "=", and "many" is none'],
  ['>= ', 'must have an operand after ">="'],
  ['s==', 'must have an operand after "s=="'],
  ['<in>', 'must have an operand after "<in>"'],
  ['<all-in> <all-in>', 'must have an operand after each "<all-in>"'],
  ['<or> a <or>', 'must have an operand after each "<or>"'],
  ['== 0x10', 'must have a number'],
  ['  ', 'must say what the capability has to be'],
])('"%s" is malformed', (asked, message) => {
  const read = parseCapabilityCheck(asked);
  expect(read.kind === 'malformed' ? read.message : read.kind).toContain(message);
});

describe('capabilities of a node', () => {
  test('malformed-items-are-skipped-and-named', () => {
    const { values, malformed } = parseCapabilities('boot_mode:uefi, disks:16 ,bad,:x,url:http://a:1,boot_mode:bios,');
    expect(Object.fromEntries(values)).toEqual({ boot_mode: 'uefi', disks: '16', url: 'http://a:1' });
    expect(malformed).toEqual(['bad', ':x', '']);
    expect(parseCapabilities(undefined)).toEqual({ values: new Map(), malformed: [] });
  });

  test.each([
    ['', false],
    ['0', false],
    ['False', false],
    ['NO', false],
    ['off', false],
    ['1', true],
    ['true', true],
    ['00', true],
    ['anything', true],
  ])('"%s" is truthy: %s', (value, expected) => {
    expect(isTruthy(value)).toBe(expected);
  });

  test('a-class-is-written-as-requests-write-it', () => {
    expect(customClassOf('baremetal.with-GPU')).toBe('CUSTOM_BAREMETAL_WITH_GPU');
    expect(customClassOf('a__b..c')).toBe('CUSTOM_A_B_C');
  });
});
