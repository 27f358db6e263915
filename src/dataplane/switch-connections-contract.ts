// What every switch keeps to that tracks connections and takes those of others, the simulated and the real ones.
import { afterEach, describe, expect, test } from 'vitest';
import { connectionOf } from './connections-fixture.ts';
import { connectionText } from './tracked-connection.ts';
import type { Switch } from './switch.ts';

/** One that has all of it. */
export type TrackingSwitch = Switch & Required<Pick<Switch, 'connections' | 'seed' | 'flush'>>;

export interface TrackingUnderTest {
  readonly it: TrackingSwitch;
  readonly close: () => Promise<void>;
}

const ZONE = 4711;
const OTHER_ZONE = 4712;
const ONE = connectionOf('udp', 1);
const TWO = connectionOf('udp', 2);
const ECHO = connectionOf('icmp', 3);

export function connectionsContract(name: string, open: () => Promise<TrackingUnderTest>): void {
  describe(`connections of a switch: ${name}`, () => {
    let opened: TrackingUnderTest | undefined;
    const start = async (): Promise<TrackingSwitch> => (opened = await open()).it;
    afterEach(async () => opened?.close());

    /** Which comes first is the switch's own affair. */
    const inZone = async (it: TrackingSwitch, zone: number): Promise<string[]> =>
      (await it.connections(zone)).map((one) => connectionText(one)).sort();
    const texts = (...some: readonly (typeof ONE)[]): string[] => some.map((one) => connectionText(one)).sort();

    test('a-zone-is-empty-at-first', async () => {
      expect(await inZone(await start(), ZONE)).toEqual([]);
    });

    test('shows-what-it-was-given-with-the-same-outside', async () => {
      const it = await start();
      expect(await it.seed(ZONE, [ONE, TWO, ECHO])).toEqual({ taken: 3, already: 0, failed: 0 });
      expect(await inZone(it, ZONE)).toEqual(texts(ONE, TWO, ECHO));
    });

    test('what-it-has-already-stays-as-it-is', async () => {
      const it = await start();
      await it.seed(ZONE, [ONE]);
      expect(await it.seed(ZONE, [ONE, TWO])).toEqual({ taken: 1, already: 1, failed: 0 });
      expect(await inZone(it, ZONE)).toEqual(texts(ONE, TWO));
    });

    test('a-connection-keeps-its-outside-when-another-host-saw-it-with-a-different-one', async () => {
      const it = await start();
      await it.seed(ZONE, [ONE]);
      const moved = { ...ONE, outside: { ...ONE.outside, port: ONE.outside.port + 1000 } };
      expect(await it.seed(ZONE, [moved])).toEqual({ taken: 0, already: 1, failed: 0 });
      expect(await inZone(it, ZONE)).toEqual(texts(ONE));
    });

    test('nothing-to-take-is-no-failure', async () => {
      expect(await (await start()).seed(ZONE, [])).toEqual({ taken: 0, already: 0, failed: 0 });
    });

    test('zones-know-nothing-of-each-other', async () => {
      const it = await start();
      await it.seed(ZONE, [ONE]);
      await it.seed(OTHER_ZONE, [TWO]);
      expect(await inZone(it, ZONE)).toEqual(texts(ONE));
      await it.flush(ZONE);
      expect(await inZone(it, ZONE)).toEqual([]);
      expect(await inZone(it, OTHER_ZONE)).toEqual(texts(TWO));
      await it.flush(OTHER_ZONE);
    });

    test('a-zone-that-is-empty-can-be-flushed', async () => {
      const it = await start();
      await it.flush(ZONE);
      await it.flush(ZONE);
      expect(await inZone(it, ZONE)).toEqual([]);
    });
  });
}
