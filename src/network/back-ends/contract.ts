// The contract suite of network back ends. Those in the journal and those outside pass all of it; where capabilities differ, the suite states
// how.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CAPABILITIES } from './back-end.ts';
import { harnessOf, type Harness } from './contract-world.ts';
import { backEndMoveContract } from './move-contract.ts';
import { BACK_ENDS, type BackEndName } from '../model.ts';
import { stockOf } from '../addresses/stock.ts';

const SEG0 = 'segment:seg0';
const SEG2 = 'segment:seg2';
const PLAIN = 'network:plain';

const nic = (port: string) => ({ port, network: 'routed' }) as const;
const plainNic = (port: string) => ({ port, network: 'plain' }) as const;

const PORTS = ['a', 'b', 'c', 'd', 'e', 'f'];
const onPort = { port: fc.constantFrom(...PORTS) };
const PLACES = [
  ['h2', SEG0],
  ['h3', SEG2],
  ['h4', SEG0],
  ['h5', SEG2],
] as const;
const step = fc.oneof(
  fc.record({ op: fc.constant('create' as const), ...onPort }),
  fc.record({ op: fc.constant('bind' as const), ...onPort, place: fc.constantFrom(...PLACES) }),
  fc.record({ op: fc.constant('unbind' as const), ...onPort }),
  fc.record({ op: fc.constant('release' as const), ...onPort }),
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** Takes a step if a controller would take it. */
async function takeStep(back: Harness, one: Step): Promise<void> {
  const { port } = one;
  const held = back.heldPort(port);
  if (one.op === 'create') await back.create(nic(port));
  else if (one.op === 'release') expect(await back.release(port, { wasActive: false })).toBe('ok');
  else if (one.op === 'unbind' && held !== undefined) await back.unbind(port);
  else if (one.op === 'bind' && held !== undefined && held.host === undefined)
    await back.bind(one.place[0], [{ port, pool: one.place[1] }]);
}

function backEndContract(name: BackEndName): void {
  const { inline } = CAPABILITIES[name];
  // A host's own network makes its ports when they are bound.
  const earlyCreate = name !== 'host-local';
  const start = (): Harness => harnessOf(name);

  describe(`${name}, creating ports`, () => {
    test('create-is-idempotent', async () => {
      const back = start();
      expect(await back.create(nic('a'), plainNic('b'))).toBe('ok');
      const first = [back.heldPort('a'), back.heldPort('b')];
      expect(await back.create(nic('a'), plainNic('b'))).toBe('ok');
      expect([back.heldPort('a'), back.heldPort('b')]).toEqual(first);
    });

    test('capabilities: the ports before a host is chosen', async () => {
      const back = start();
      await back.create(plainNic('a'), nic('b'));
      expect(back.heldPort('a')?.ips).toEqual(earlyCreate ? ['192.168.0.7'] : []);
      expect(back.heldPort('b')?.ips).toEqual([]);
      expect(back.calls() > 0).toBe(!inline);
    });

    const whenLate = earlyCreate ? () => undefined : test;
    whenLate('scheduling-36: nothing happens before a host is chosen, everything at bind', async () => {
      const back = start();
      await back.create(plainNic('a'), nic('b'));
      expect(back.calls()).toBe(0);
      for (const pool of [PLAIN, SEG0, SEG2] as const) {
        expect(stockOf(back.fleet).figures(pool, 4)).toMatchObject({ held: 0n, claimed: 0n });
      }
      expect(
        await back.bind('h2', [
          { port: 'a', pool: PLAIN },
          { port: 'b', pool: SEG0 },
        ]),
      ).toBe('ok');
      expect([back.heldPort('a')?.ips.length, back.heldPort('b')?.ips.length]).toEqual([1, 2]);
    });

    test('an-empty-plain-network-is-told-as-soon-as-addresses-are-given', async () => {
      const back = start();
      await back.create(plainNic('a'), plainNic('b'));
      const bound = await back.bind('h2', [
        { port: 'a', pool: PLAIN },
        { port: 'b', pool: PLAIN },
      ]);
      expect(bound).toBe('ok');
      const created = await back.create(plainNic('c'));
      expect(created).toBe(earlyCreate ? 'addresses-exhausted' : 'ok');
      if (!earlyCreate) expect(await back.bind('h2', [{ port: 'c', pool: PLAIN }])).toBe('pool-empty');
    });

    test('an-address-that-was-asked-for-is-given', async () => {
      const back = start();
      await back.create({ ...nic('a'), fixedIp: { ip: '10.0.0.200', subnet: 's0' } });
      expect(back.heldPort('a')?.ips).toEqual(['10.0.0.200']);
    });
  });

  describe(`${name}, binding`, () => {
    test('scheduling-7: bind gives one address per version, in one segment', async () => {
      const back = start();
      await back.create(nic('a'));
      expect(await back.bind('h5', [{ port: 'a', pool: SEG0 }])).toBe('ok');
      expect(back.heldPort('a')).toMatchObject({
        ips: ['10.0.0.11', '2001:db8::2'],
        host: 'h5',
        segment: 'seg0',
        serial: 1,
      });
    });

    test('unbind-keeps-addresses-and-mac-and-grows-the-serial', async () => {
      const back = start();
      await back.create(nic('a'));
      await back.bind('h2', [{ port: 'a', pool: SEG0 }]);
      const bound = back.heldPort('a');
      expect(await back.unbind('a')).toBe('ok');
      expect(back.heldPort('a')).toEqual({ ...bound, host: undefined, segment: undefined, serial: 2 });
    });

    test('rebind-in-the-segment-keeps-what-it-has', async () => {
      const back = start();
      await back.create(nic('a'));
      await back.bind('h2', [{ port: 'a', pool: SEG0 }]);
      const ips = back.heldPort('a')?.ips;
      await back.unbind('a');
      expect(await back.bind('h4', [{ port: 'a', pool: SEG0 }])).toBe('ok');
      expect(back.heldPort('a')).toMatchObject({ ips, host: 'h4', serial: 3 });
    });

    test('rebind-in-another-segment-changes-addresses-of-a-bind-only', async () => {
      const back = start();
      await back.create(nic('a'));
      await back.bind('h2', [{ port: 'a', pool: SEG0 }]);
      const mac = back.heldPort('a')?.mac;
      await back.unbind('a');
      expect(await back.bind('h3', [{ port: 'a', pool: SEG2 }])).toBe('ok');
      expect(back.heldPort('a')).toMatchObject({ ips: ['10.2.0.11'], mac, host: 'h3', segment: 'seg2' });
      await back.create(nic('b'));
      await back.bind('h2', [{ port: 'b', pool: SEG0 }]);
      expect(back.heldPort('b')?.ips).toEqual(['10.0.0.11', '2001:db8::2']);
    });

    test('never: an address that a user chose changes', async () => {
      const back = start();
      await back.create({ ...nic('a'), fixedIp: { ip: '10.0.0.13', subnet: 's0' } });
      for (const on of ['h2', 'h4']) {
        expect(await back.bind(on, [{ port: 'a', pool: SEG0 }])).toBe('ok');
        await back.unbind('a');
      }
      expect(await back.bind('h3', [{ port: 'a', pool: SEG2 }])).toBe('address-not-carried');
      expect(back.heldPort('a')).toMatchObject({ ips: ['10.0.0.13'], host: undefined });
    });

    test('scheduling-10: a port without addresses is bound without one', async () => {
      const back = start();
      back.userPort('u', 'routed', { ipAllocation: 'none' });
      await back.create(nic('u'));
      expect(await back.bind('h3', [{ port: 'u', pool: SEG2 }])).toBe('ok');
      expect(back.heldPort('u')).toMatchObject({ ips: [], host: 'h3' });
    });

    test('an-empty-pool-at-bind-binds-none-of-them', async () => {
      const back = start();
      await back.create(nic('a'), nic('b'), nic('c'));
      const requests = ['a', 'b', 'c'].map((port) => ({ port, pool: SEG2 }) as const);
      expect(await back.bind('h3', requests)).toBe('pool-empty');
      expect(['a', 'b', 'c'].map((port) => back.heldPort(port)?.host)).toEqual([undefined, undefined, undefined]);
      expect(['a', 'b', 'c'].flatMap((port) => back.heldPort(port)?.ips)).toEqual([]);
      expect(await back.bind('h3', requests.slice(1))).toBe('ok');
    });

    test('two-nics-of-one-bind-never-share-an-address', async () => {
      const back = start();
      await back.create(nic('a'), nic('b'), nic('c'));
      const requests = ['a', 'b', 'c'].map((port) => ({ port, pool: SEG0 }) as const);
      expect(await back.bind('h2', requests)).toBe('ok');
      expect(new Set(['a', 'b', 'c'].flatMap((port) => back.heldPort(port)?.ips ?? [])).size).toBe(6);
    });
  });

  describe(`${name}, the end`, () => {
    test('release-of-an-unknown-port-succeeds', async () => {
      const back = start();
      expect(await back.release('nobody')).toBe('ok');
      expect(await back.unbind('nobody')).toBe('ok');
    });

    test('release-deletes-what-muster-made-and-frees-its-addresses', async () => {
      const back = start();
      await back.create(nic('a'));
      await back.bind('h3', [{ port: 'a', pool: SEG2 }]);
      expect(await back.release('a')).toBe('ok');
      expect(await back.release('a')).toBe('ok');
      expect(back.heldPort('a')).toBeUndefined();
      await back.create(nic('b'));
      await back.bind('h3', [{ port: 'b', pool: SEG2 }]);
      expect(back.heldPort('b')?.ips).toEqual(['10.2.0.11']);
    });

    test.each([
      [true, ['10.2.0.11']],
      [false, []],
    ])('a-user-port-is-handed-back: was active %s', async (wasActive, ips) => {
      const back = start();
      back.userPort('u', 'routed');
      await back.create(nic('u'));
      await back.bind('h3', [{ port: 'u', pool: SEG2 }]);
      expect(await back.release('u', { wasActive })).toBe('ok');
      expect(back.heldPort('u')).toMatchObject({ ips, host: undefined });
    });
  });

  describe(`${name}, whatever happens`, () => {
    test('never: two ports share an address, or the back end and the journal differ', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
          const back = start();
          // A released port is never created again: the next one has another id.
          const ended = new Map<string, number>();
          const idOf = (port: string): string => `${port}${ended.get(port) ?? 0}`;
          for (const one of steps) {
            await takeStep(back, { ...one, port: idOf(one.port) });
            if (one.op === 'release') ended.set(one.port, (ended.get(one.port) ?? 0) + 1);
            const held = PORTS.flatMap((port) => back.heldPort(idOf(port))?.ips ?? []);
            expect(new Set(held).size).toBe(held.length);
          }
        }),
        { numRuns: 60 },
      );
    });
  });
}

export function backEndContracts(): void {
  for (const name of BACK_ENDS) {
    backEndContract(name);
    backEndMoveContract(name);
  }
}
