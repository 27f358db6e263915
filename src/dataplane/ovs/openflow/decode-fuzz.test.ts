// Whatever arrives: decoders answer or throw the typed error, soon, and take no length on trust.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { actionsText, readActions } from './actions-from-wire.ts';
import { readPacketIn, readPart, readPort, hasCommonVersion } from './replies.ts';
import { BytesReader } from './bytes-reader.ts';
import { BytesWriter } from './bytes-writer.ts';
import { errorName } from './error-codec.ts';
import { FlowCache } from './flow-cache.ts';
import { readFlow } from './flow-codec.ts';
import { readGroup } from './group-codec.ts';
import { flowBytes, groupBytes, NAMES } from './stats-entry-fixture.ts';
import { matchText, putMatch } from './match.ts';
import { MessageFramer } from './message-frame.ts';
import { ProtocolError } from './errors.ts';
import { anyFlow, anyGroup } from './flow-arbitraries-fixture.ts';

type Decoder = (reader: BytesReader) => unknown;

const DECODERS: Readonly<Record<string, Decoder>> = {
  flow: (reader) => readFlow(reader, NAMES),
  'flow of a list': (reader) => new FlowCache().list(NAMES).read(reader),
  group: (reader) => readGroup(reader, NAMES),
  match: (reader) => matchText(reader, NAMES),
  actions: (reader) => readActions(reader, NAMES),
  port: readPort,
  part: readPart,
  'packet-in': (reader) => readPacketIn(reader, NAMES),
  error: errorName,
  hello: (reader) => hasCommonVersion(5, reader),
  stream: (reader) => new MessageFramer().push(reader.rest()),
};

function packetInBytes(match: string): Uint8Array {
  const writer = new BytesWriter();
  writer.zeros(16);
  putMatch(writer, match, NAMES);
  writer.zeros(2 + 60);
  return writer.copy();
}

const valid = fc.oneof(
  anyFlow.map((flow) => flowBytes(flow)),
  anyGroup.map(groupBytes),
  anyFlow.map(({ match }) => packetInBytes(match)),
);

/** Bytes that are almost right go deeper than random ones. */
const almost = fc.oneof(
  fc.tuple(valid, fc.nat()).map(([bytes, at]) => bytes.slice(0, at % (bytes.length + 1))),
  fc
    .tuple(valid, fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 7 })), { minLength: 1, maxLength: 4 }))
    .map(([bytes, flips]) => {
      const flipped = bytes.slice();
      for (const [at, bit] of flips) flipped[at % flipped.length] = (flipped[at % flipped.length] ?? 0) ^ (1 << bit);
      return flipped;
    }),
  fc.tuple(valid, fc.uint8Array({ maxLength: 64 })).map(([bytes, more]) => Uint8Array.from([...bytes, ...more])),
  fc.uint8Array({ maxLength: 2048 }),
);

function onlyProtocolErrors(decode: Decoder, bytes: Uint8Array): void {
  try {
    decode(new BytesReader(bytes));
  } catch (error) {
    expect(error).toBeInstanceOf(ProtocolError);
  }
}

describe('never: a decoder throws anything but the protocol error', () => {
  test.each(Object.keys(DECODERS))('%s', (name) => {
    fc.assert(
      fc.property(almost, (bytes) => onlyProtocolErrors(DECODERS[name]!, bytes)),
      { numRuns: 500 },
    );
  });
});

describe('lengths that lead nowhere', () => {
  test.each([
    ['a-flow-of-no-length', 'flow', [0, 0]],
    ['a-flow-longer-than-the-answer', 'flow', [0xff, 0xff, 0, 0]],
    ['an-action-of-no-length', 'actions', [0, 0, 0, 0, 0, 0, 0, 0]],
    ['an-action-not-aligned', 'actions', [0, 0, 0, 9, 0, 0, 0, 0, 0]],
    ['a-group-of-no-length', 'group', [0, 0, 0, 0, 0, 0, 0, 1]],
    ['a-bucket-of-no-length', 'group', [0, 16, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]],
    ['a-port-of-no-length', 'port', [0, 0, 0, 1, 0, 0]],
    ['a-message-of-no-length', 'stream', [5, 0, 0, 0, 0, 0, 0, 0]],
    ['a-greeting-without-end', 'hello', [0, 1, 0, 0, 0, 0, 0, 0]],
  ] as const)('%s', (_, name, bytes) => {
    expect(() => DECODERS[name]!(new BytesReader(Uint8Array.from(bytes)))).toThrow(ProtocolError);
  });

  test('actions-inside-of-actions-without-end are not followed', () => {
    let inside: Uint8Array = new Uint8Array();
    while (inside.length < 60_000) {
      const writer = new BytesWriter();
      for (const word of [0xffff, 24 + inside.length, 0, 0x2320, 35]) writer.u16(word);
      writer.zeros(14);
      writer.put(inside);
      inside = writer.copy();
    }
    expect(actionsText(readActions(new BytesReader(inside), NAMES))).toMatch(/^ct\(.*unknown\([0-9a-f]+\)/);
  });
});

describe('what others put on the switch is shown', () => {
  const shown = (hex: string): string[] =>
    readActions(new BytesReader(Uint8Array.from(hex.match(/../g)!, (byte) => Number.parseInt(byte, 16))), NAMES);

  test.each([
    ['push', 'ffff001800002320001b0000000100040020000000000000'],
    ['clone', 'ffff002000002320002a00000000000000000010000000010000000000000000'],
    ['learn', 'ffff002000002320001000000000800000000000000000000000010000000000'],
    ['another-vendor', 'ffff0010000012340001000000000000'],
    ['a-field-that-is-not-known', '00190010ffff12040000000000000000'],
    ['a-known-action-that-is-too-short', 'ffff0010000023200006002000000000'],
  ])('%s as unknown', (_, hex) => {
    expect(shown(hex)).toEqual([`unknown(${hex})`]);
  });

  test('an-unknown-one-does-not-hide-the-others', () => {
    const output = '0000001000000001000000000000000000'.slice(0, 32);
    expect(shown(`${output}ffff0010000012340001000000000000${output}`)).toEqual([
      'output:"vm1"',
      'unknown(ffff0010000012340001000000000000)',
      'output:"vm1"',
    ]);
  });

  test('a-field-of-a-match-that-is-not-known', () => {
    const writer = new BytesWriter();
    for (const word of [1, 16, 0xffff, 0x0004, 0x1234, 0x5678, 0x8000, 0x0004, 0, 1]) writer.u16(word);
    writer.patch16(2, 20);
    writer.zeros(4);
    expect(matchText(new BytesReader(writer.copy()), NAMES)).toBe('in_port="vm1",unknown(ffff000412345678)');
  });

  test.each([
    [[0, 5, 0, 1], 'OFPFMFC_TABLE_FULL'],
    [[0, 2, 0, 9], 'OFPBAC_BAD_OUT_GROUP'],
    [[0xff, 0xff, 0, 43, 0, 0, 0x23, 0x20], 'NXBMC_CT_DATAPATH_SUPPORT'],
    [[0xff, 0xff, 0, 1, 0, 0, 0, 1], 'error 1 of vendor 0x1'],
    [[0, 99, 0, 1], 'error 1 of type 99'],
    [[0, 0, 0, 99], 'error 99 of type 0'],
  ] as const)('the-error %s is %s', (bytes, name) => {
    expect(errorName(new BytesReader(Uint8Array.from(bytes)))).toBe(name);
  });
});
