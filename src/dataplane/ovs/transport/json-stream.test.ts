// Messages are found wherever the stream is cut, and what is no message ends in a typed failure.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DaemonFailure, MalformedMessage, MessageTooLarge } from './failures.ts';
import { readMessage } from './json-rpc.ts';
import { JsonStream } from './json-stream.ts';

const BYTES_MAX = 10_000;

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function readAll(chunks: readonly Uint8Array[], max = BYTES_MAX): { messages: object[]; stream: JsonStream } {
  const stream = new JsonStream(max);
  const messages = chunks.flatMap((chunk) => [...stream.push(chunk)]);
  return { messages, stream };
}

/** Not only letters: halves of pairs, control characters, quotes. */
const anyText = fc.array(fc.nat(0xffff), { maxLength: 10 }).map((codes) => String.fromCharCode(...codes));

const object = fc.dictionary(anyText, fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 });

describe('json stream', () => {
  test('messages-follow-each-other-without-anything-between', () => {
    const { messages } = readAll([bytes('{"a":1}{"b":{}} \n\t{"c":"}{\\"\\\\"}')]);
    expect(messages).toEqual([{ a: 1 }, { b: {} }, { c: '}{"\\' }]);
  });

  test('cut-at-every-byte-the-same-messages-are-found', () => {
    const text = bytes('{"a":"ä{\\"}"}{"b":[{"c":"\\\\"},"\u{1F600}"]}{}');
    const whole = readAll([text]).messages;
    expect(whole).toHaveLength(3);
    for (let at = 0; at <= text.length; at += 1) {
      expect(readAll([text.subarray(0, at), text.subarray(at)]).messages).toEqual(whole);
    }
    expect(readAll([...text].map((byte) => Uint8Array.of(byte))).messages).toEqual(whole);
  });

  test('any-messages-in-any-chunks-are-found', () => {
    const cuts = fc.array(fc.nat(400), { maxLength: 6 });
    fc.assert(
      fc.property(fc.array(object, { maxLength: 5 }), cuts, (sent, at) => {
        const text = bytes(sent.map((message) => JSON.stringify(message)).join(''));
        const places = [0, ...at.filter((place) => place < text.length).sort((a, b) => a - b), text.length];
        const chunks = places.slice(1).map((end, index) => text.subarray(places[index], end));
        const { messages, stream } = readAll(chunks);
        expect(messages).toEqual(sent.map((message) => JSON.parse(JSON.stringify(message)) as object));
        expect(stream.heldBytes).toBe(0);
      }),
    );
  });

  test('a-cut-off-message-is-waited-for', () => {
    const { messages, stream } = readAll([bytes('{"a":1}{"b":"')]);
    expect(messages).toEqual([{ a: 1 }]);
    expect(stream.heldBytes).toBe(6);
  });

  test.each([
    ['no-brace', 'hello'],
    ['a-list', '[1]'],
    ['a-string-between', '{"a":1}"x"{"b":2}'],
    ['closed-before-it-was-opened', '}'],
    ['no-json', '{"a":}'],
    ['a-string-that-is-not-finished-is-none', '{a"}"}'],
  ])('%s-is-malformed', (_, text) => {
    expect(() => readAll([bytes(text)])).toThrow(MalformedMessage);
  });

  test('bytes-that-are-no-utf-8-are-malformed', () => {
    expect(() => readAll([Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d)])).toThrow(/not UTF-8/);
  });

  test('a-message-of-the-limit-is-read-and-one-byte-more-is-not', () => {
    const message = bytes(JSON.stringify({ a: 'x'.repeat(100) }));
    expect(readAll([message], message.length).messages).toHaveLength(1);
    expect(() => readAll([message], message.length - 1)).toThrow(MessageTooLarge);
  });

  test('never: more is held than the limit, however small the pieces are', () => {
    const stream = new JsonStream(1000);
    const feed = (): void => {
      for (let sent = 0; sent < 5000; sent += 1) {
        expect([...stream.push(bytes(sent === 0 ? '{"a":"' : 'x'))]).toEqual([]);
        expect(stream.heldBytes).toBeLessThanOrEqual(1000);
      }
    };
    expect(feed).toThrow(MessageTooLarge);
  });

  test('never: random bytes do anything but fail by name', () => {
    const noise = fc.oneof(fc.uint8Array({ maxLength: 300 }), fc.string({ maxLength: 300 }).map(bytes));
    fc.assert(
      fc.property(fc.array(noise, { maxLength: 5 }), (chunks) => {
        try {
          readAll(chunks, 500);
        } catch (error) {
          expect(error).toBeInstanceOf(DaemonFailure);
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe('json-rpc', () => {
  test.each([
    [
      { id: null, method: 'update', params: ['m', {}] },
      { kind: 'notification', method: 'update', params: ['m', {}] },
    ],
    [
      { id: 'echo', method: 'echo', params: [] },
      { kind: 'request', method: 'echo', params: [], id: 'echo' },
    ],
    [
      { id: 1, result: null, error: null },
      { kind: 'answer', id: 1, result: null },
    ],
    [
      { id: 1, error: 'unknown method' },
      { kind: 'refusal', id: 1, error: 'unknown method' },
    ],
  ])('a-message-is-read: %j', (message, read) => {
    expect(readMessage(message)).toEqual(read);
  });

  test.each([
    {},
    { id: 1 },
    { method: 'echo' },
    { method: 5, params: [] },
    { method: 'echo', params: {}, id: 1 },
    { result: 1 },
  ])('what-is-no-message-is-malformed: %j', (message) => {
    expect(() => readMessage(message)).toThrow(MalformedMessage);
  });

  test('never: random objects do anything but fail by name', () => {
    const field = fc.constantFrom('id', 'method', 'params', 'result', 'error');
    fc.assert(
      fc.property(fc.dictionary(field, fc.jsonValue()), (message) => {
        try {
          readMessage(message);
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedMessage);
        }
      }),
    );
  });
});
