import { describe, expect, test } from 'vitest';
import { diskGiB, memoryMiB } from './size.ts';

describe('sizes', () => {
  test.each([
    ['4096', 4096],
    ['4096MiB', 4096],
    ['64GiB', 65_536],
    ['64 gib', 65_536],
    ['1.5GiB', 1536],
    ['2TiB', 2 * 1024 * 1024],
  ])('%s of memory', (text, size) => expect(memoryMiB(text)).toBe(size));

  test.each([
    ['500', 500],
    ['500GiB', 500],
    ['2048MiB', 2],
    ['1.5TiB', 1536],
  ])('%s of disk', (text, size) => expect(diskGiB(text)).toBe(size));

  test.each(['', 'much', '64GB', '64G', '-1', '-1GiB', '1e3', '64GiBs', 'GiB', '1,5GiB', '64KiB'])(
    '%j is refused with an example',
    (text) => {
      expect(() => memoryMiB(text)).toThrow(
        `"${text}" is not a size. Write it in MiB, GiB or TiB, such as 64GiB; a number alone is in MiB.`,
      );
      expect(() => diskGiB(text)).toThrow('a number alone is in GiB.');
    },
  );

  test('never: a size is rounded in silence', () => {
    expect(() => diskGiB('512MiB')).toThrow('"512MiB" is not a whole number of GiB.');
    expect(() => memoryMiB('0.5')).toThrow('"0.5" is not a whole number of MiB.');
    expect(() => memoryMiB('999999999999999TiB')).toThrow('is not a whole number of MiB.');
  });
});
