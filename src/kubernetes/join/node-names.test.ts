// Names of new Nodes.
import { assert, nat, property, string } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { composeNodeName } from './node-names.ts';

const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const ID = 'worker-0123456789abcdefghjk';
const free = () => false;

describe('the name of a new Node', () => {
  test.each([
    ['edge', 'edge-cdefghjk'],
    ['Worker_VDU.1', 'worker-vdu-1-cdefghjk'],
    ['--x--', 'x-cdefghjk'],
    ['ä', 'cdefghjk'],
  ])('%s: %s', (base, name) => {
    expect(composeNodeName({ base, id: ID, isTaken: free })).toBe(name);
  });

  test('a-collision-takes-more-digits', () => {
    const taken = new Set(['edge-cdefghjk', 'edge-bcdefghjk']);
    expect(composeNodeName({ base: 'edge', id: ID, isTaken: (name) => taken.has(name) })).toBe('edge-abcdefghjk');
    expect(composeNodeName({ base: 'edge', id: ID, isTaken: () => true })).toBeUndefined();
  });

  test('is a DNS label, whatever it is made of', () => {
    assert(
      property(string(), nat(), (base, tries) => {
        let left = tries % 12;
        const name = composeNodeName({ base, id: ID, isTaken: () => (left -= 1) >= 0 });
        expect(name).toMatch(LABEL);
      }),
    );
    expect(composeNodeName({ base: 'x'.repeat(200), id: ID, isTaken: free })).toHaveLength(63);
  });
});
