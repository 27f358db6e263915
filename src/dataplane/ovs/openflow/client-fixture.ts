// A client and a switch that does what the test says, on a clock that the test moves.
import { onTestFinished } from 'vitest';
import { ManualClock } from '../../../network/back-ends/clock-fixture.ts';
import type { Flow } from '../../switch/switch.ts';
import { BytesWriter } from './bytes-writer.ts';
import { FakeSwitch } from './fake-switch-fixture.ts';
import { NAMES } from './stats-entry-fixture.ts';
import { putMatch } from './match.ts';
import type { Mod } from './mods.ts';
import { OpenFlowClient, type OpenFlowLimits } from './client-driver.ts';

export interface OpenFlowHarness {
  readonly clock: ManualClock;
  readonly fake: FakeSwitch;
  readonly client: OpenFlowClient;
  /** What the listeners were called with: `up`, or why it is down. */
  readonly events: string[];
}

export function start(
  prepare: (fake: FakeSwitch) => void = () => {},
  limits: Partial<OpenFlowLimits> = {},
): OpenFlowHarness {
  const [clock, fake, events] = [new ManualClock(), new FakeSwitch(), new Array<string>()];
  prepare(fake);
  const client = new OpenFlowClient({
    address: 'unix:/not/used',
    dial: fake.dial,
    clock,
    random: () => 1,
    names: NAMES,
    limits: { connectTimeoutMs: 1000, requestTimeoutMs: 1000, bulkTimeoutMs: 2000, probeAfterMs: 3000, ...limits },
  });
  client.onUp(() => events.push('up'));
  client.onDown((why) => events.push(why.message));
  onTestFinished(() => client.close());
  return { clock, fake, client, events };
}

/** The error that a promise ends with; called before the promise is awaited. */
export function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => new Error('it did not fail'),
    (error: unknown) => error,
  );
}

export function flowNr(nth: number, actions = 'resubmit(,20)'): Flow {
  return { table: 10, priority: 30, match: `reg0=0x${(nth + 1).toString(16)}`, actions, cookie: '4d55000000000001' };
}

export function puts(count: number): Mod[] {
  return Array.from({ length: count }, (_, nth) => ({ kind: 'put-flow', flow: flowNr(nth) }));
}

/** Whether the body of a change has this match in it. */
export function hasMatch(match: string): (body: Uint8Array) => boolean {
  const writer = new BytesWriter();
  putMatch(writer, match, NAMES);
  const wanted = Buffer.from(writer.copy(4)).toString('hex');
  return (body) => Buffer.from(body).toString('hex').includes(wanted);
}

/** The body of a message that brings a packet. */
export function packetIn(match: string, data: readonly number[]): Uint8Array {
  const writer = new BytesWriter();
  writer.u32(0xffffffff);
  writer.u16(data.length);
  writer.u8(1);
  writer.u8(10);
  writer.u32(0x4d550000);
  writer.u32(1);
  putMatch(writer, match, NAMES);
  writer.zeros(2);
  writer.put(Uint8Array.from(data));
  return writer.copy();
}
