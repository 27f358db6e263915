import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BytesReader } from './bytes-reader.ts';
import { BytesWriter } from './bytes-writer.ts';
import { readIpv6, putIpv6 } from './addresses.ts';
import { beginMessage, endMessage, MessageFramer } from './message-frame.ts';
import { TokenBucket } from './token-bucket.ts';
import { BadFlowText } from './errors.ts';

function stream(bodies: readonly Uint8Array[]): Uint8Array {
  const writer = new BytesWriter(1);
  for (const [xid, body] of bodies.entries()) {
    const start = beginMessage(writer, 2, xid);
    writer.put(body);
    endMessage(writer, start);
  }
  return writer.copy();
}

describe('messages in a stream', () => {
  test('never: where the stream is cut makes a difference', () => {
    const bodies = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 8 });
    fc.assert(
      fc.property(bodies, fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1 }), (all, cuts) => {
        const bytes = stream(all);
        const cutter = new MessageFramer();
        const read: Uint8Array[] = [];
        for (let [at, nth] = [0, 0]; at < bytes.length; nth += 1) {
          const end = at + (cuts[nth % cuts.length] ?? 1);
          for (const { xid, body } of cutter.push(bytes.slice(at, end))) {
            expect(xid).toBe(read.length);
            read.push(body.rest().slice());
          }
          at = end;
        }
        expect(read).toEqual(all);
      }),
    );
  });

  test('a-message-beyond-its-length-field is not written', () => {
    expect(() => stream([new Uint8Array(65_528)])).toThrow(BadFlowText);
    expect(stream([new Uint8Array(65_527)])).toHaveLength(65_535);
  });
});

describe('IPv6 addresses are written as the C library does', () => {
  test.each([
    ['::', '::'],
    ['::1', '::1'],
    ['1::', '1::'],
    ['fd00:0:0:1:0:0:0:1', 'fd00:0:0:1::1'],
    ['fd00:0:0:1:1:0:0:1', 'fd00::1:1:0:0:1'],
    ['fd00:0:1:1:1:1:1:1', 'fd00:0:1:1:1:1:1:1'],
    ['::ffff:10.0.0.1', '::ffff:10.0.0.1'],
    ['::ffff:a00:1', '::ffff:10.0.0.1'],
    ['2001:DB8::00ab', '2001:db8::ab'],
  ])('%s', (put, read) => {
    const writer = new BytesWriter();
    putIpv6(writer, put);
    expect(readIpv6(new BytesReader(writer.copy()))).toBe(read);
  });
});

describe('token bucket', () => {
  test('a-burst, then-as-many-as-come-back', () => {
    const bucket = new TokenBucket({ perSecond: 10, burst: 2 }, 0);
    expect([0, 0, 0, 99, 100, 100, 350].map((nowMs) => bucket.take(nowMs))).toEqual([
      true,
      true,
      false,
      false,
      true,
      false,
      true,
    ]);
  });

  test('a-clock-that-goes-back gives nothing', () => {
    const bucket = new TokenBucket({ perSecond: 1000, burst: 1 }, 1000);
    expect([1000, 0, 0].map((nowMs) => bucket.take(nowMs))).toEqual([true, false, false]);
  });
});
