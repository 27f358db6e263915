import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Flow } from '../../switch/switch.ts';
import { BytesReader } from './bytes-reader.ts';
import { FlowCache } from './flow-cache.ts';
import { readFlow } from './flow-codec.ts';
import { flowBytes, NAMES } from './stats-entry-fixture.ts';
import { portNamesOf } from './ports.ts';
import { ProtocolError } from './errors.ts';
import { anyFlow } from './flow-arbitraries-fixture.ts';

const COUNTED_AT = 32;

/** The same flow some time later: it is older, and has counted. */
function later(bytes: Uint8Array): Uint8Array {
  const counted = bytes.slice();
  for (const at of [4, 8, COUNTED_AT, COUNTED_AT + 15]) counted[at] = 7;
  return counted;
}

function listed(cache: FlowCache, entries: readonly Uint8Array[], names = NAMES): Flow[] {
  const list = cache.list(names);
  const reader = new BytesReader(Uint8Array.from(entries.flatMap((bytes) => [...bytes])));
  const flows: Flow[] = [];
  while (reader.left > 0) flows.push(list.read(reader));
  list.finish();
  return flows;
}

test('what-was-read-before-reads-as-it-does-anew, and-is-not-read-again', () => {
  fc.assert(
    fc.property(fc.array(anyFlow, { maxLength: 5 }), fc.array(anyFlow, { maxLength: 5 }), (before, since) => {
      const cache = new FlowCache();
      const first = listed(
        cache,
        before.map((flow) => flowBytes(flow)),
      );
      const entries = [...since, ...before].map((flow) => later(flowBytes(flow)));
      const second = listed(cache, entries);
      expect(second).toEqual(entries.map((bytes) => readFlow(new BytesReader(bytes), NAMES)));
      expect(second.slice(since.length).every((flow) => first.includes(flow))).toBe(true);
    }),
  );
});

test('what-differs-in-anything-else-is-another-flow', () => {
  const flow: Flow = {
    table: 10,
    priority: 30,
    match: 'ip,nw_dst=10.0.0.1',
    actions: 'drop',
    cookie: '4d55000000000001',
  };
  const others: readonly Flow[] = [
    { ...flow, table: 11 },
    { ...flow, priority: 31 },
    { ...flow, match: 'ip,nw_dst=10.0.0.2' },
    { ...flow, actions: 'IN_PORT' },
    { ...flow, cookie: '4d55000000000002' },
  ];
  const cache = new FlowCache();
  for (const other of others) {
    listed(cache, [flowBytes(flow)]);
    expect(listed(cache, [flowBytes(other)])).toEqual([other]);
  }
});

test('a-port-that-has-another-name-by-now-is-shown-by-it', () => {
  const cache = new FlowCache();
  const flow: Flow = { table: 0, priority: 1, match: 'in_port="vm1"', actions: 'drop', cookie: '4d55000000000001' };
  const entry = flowBytes(flow);
  expect(listed(cache, [entry])).toEqual([flow]);
  const renamed = portNamesOf([{ name: 'vm2', number: 1 }]);
  expect(listed(cache, [entry], renamed)).toEqual([{ ...flow, match: 'in_port="vm2"' }]);
});

test('never: an entry that does not end where it says is taken for one that was read', () => {
  const flow: Flow = { table: 0, priority: 1, match: '', actions: 'drop', cookie: '4d55000000000001' };
  const entry = flowBytes(flow);
  for (const length of [0, 1, 2, 47, entry.length - 1, entry.length + 1, 0xffff]) {
    const cache = new FlowCache();
    listed(cache, [entry]);
    const wrong = entry.slice();
    [wrong[0], wrong[1]] = [length >> 8, length & 0xff];
    const list = cache.list(NAMES);
    expect(() => list.read(new BytesReader(wrong))).toThrow(ProtocolError);
  }
  for (let length = 0; length < entry.length; length += 1) {
    const cache = new FlowCache();
    listed(cache, [entry]);
    const list = cache.list(NAMES);
    expect(() => list.read(new BytesReader(entry.subarray(0, length)))).toThrow(ProtocolError);
  }
});
