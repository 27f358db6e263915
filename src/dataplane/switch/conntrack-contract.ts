// What every switch keeps to that tracks connections and takes those of others, the simulated and the real ones.
import { afterEach, describe, expect, test } from 'vitest';
import { connectionOf } from './tracked-connection-fixture.ts';
import { formatConnection } from './tracked-connection.ts';
import type { Switch } from './switch.ts';

/** One that has all of it. */
export type ConntrackSwitch = Switch &
  Required<Pick<Switch, 'listConnections' | 'importConnections' | 'flushConnections'>>;

export interface ConntrackSwitchUnderTest {
  readonly it: ConntrackSwitch;
  readonly close: () => Promise<void>;
}

const ZONE = 4711;
const OTHER_ZONE = 4712;
const ONE = connectionOf('udp', 1);
const TWO = connectionOf('udp', 2);
const ECHO = connectionOf('icmp', 3);

export function conntrackContract(name: string, open: () => Promise<ConntrackSwitchUnderTest>): void {
  describe(`connections of a switch: ${name}`, () => {
    let opened: ConntrackSwitchUnderTest | undefined;
    const start = async (): Promise<ConntrackSwitch> => (opened = await open()).it;
    afterEach(async () => opened?.close());

    /** Which comes first is the switch's own affair. */
    const inZone = async (it: ConntrackSwitch, zone: number): Promise<string[]> =>
      (await it.listConnections(zone)).map((one) => formatConnection(one)).sort();
    const texts = (...some: readonly (typeof ONE)[]): string[] => some.map((one) => formatConnection(one)).sort();

    test('a-zone-is-empty-at-first', async () => {
      expect(await inZone(await start(), ZONE)).toEqual([]);
    });

    test('shows-what-it-was-given-with-the-same-outside', async () => {
      const it = await start();
      expect(await it.importConnections(ZONE, [ONE, TWO, ECHO])).toEqual({ imported: 3, present: 0, failed: 0 });
      expect(await inZone(it, ZONE)).toEqual(texts(ONE, TWO, ECHO));
    });

    test('what-it-has-already-stays-as-it-is', async () => {
      const it = await start();
      await it.importConnections(ZONE, [ONE]);
      expect(await it.importConnections(ZONE, [ONE, TWO])).toEqual({ imported: 1, present: 1, failed: 0 });
      expect(await inZone(it, ZONE)).toEqual(texts(ONE, TWO));
    });

    test('a-connection-keeps-its-outside-when-another-host-saw-it-with-a-different-one', async () => {
      const it = await start();
      await it.importConnections(ZONE, [ONE]);
      const moved = { ...ONE, outside: { ...ONE.natSource, port: ONE.natSource.port + 1000 } };
      expect(await it.importConnections(ZONE, [moved])).toEqual({ imported: 0, present: 1, failed: 0 });
      expect(await inZone(it, ZONE)).toEqual(texts(ONE));
    });

    test('nothing-to-take-is-no-failure', async () => {
      expect(await (await start()).importConnections(ZONE, [])).toEqual({ imported: 0, present: 0, failed: 0 });
    });

    test('zones-know-nothing-of-each-other', async () => {
      const it = await start();
      await it.importConnections(ZONE, [ONE]);
      await it.importConnections(OTHER_ZONE, [TWO]);
      expect(await inZone(it, ZONE)).toEqual(texts(ONE));
      await it.flushConnections(ZONE);
      expect(await inZone(it, ZONE)).toEqual([]);
      expect(await inZone(it, OTHER_ZONE)).toEqual(texts(TWO));
      await it.flushConnections(OTHER_ZONE);
    });

    test('a-zone-that-is-empty-can-be-flushed', async () => {
      const it = await start();
      await it.flushConnections(ZONE);
      await it.flushConnections(ZONE);
      expect(await inZone(it, ZONE)).toEqual([]);
    });
  });
}
