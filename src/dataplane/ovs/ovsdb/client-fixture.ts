// A client of the database and a server that does what the test says, on a clock that the test moves.
import { onTestFinished } from 'vitest';
import { ManualClock } from '../../../network/back-ends/clock-fixture.ts';
import { type Answers, FakeDaemon } from '../transport/fake-daemon-fixture.ts';
import type { ReconnectState } from '../transport/reconnecting-connection-driver.ts';
import { OvsdbClient, type OvsdbClientOptions } from './client-driver.ts';

export const TABLES = { Bridge: ['name'] };
export const BRIDGES = (names: Readonly<Record<string, string>>): object => ({
  Bridge: Object.fromEntries(Object.entries(names).map(([uuid, name]) => [uuid, { new: { name } }])),
});

export const usual: Answers = (method, params) => {
  if (method === 'echo') return { result: params };
  if (method === 'monitor') return { result: BRIDGES({ a: 'br-a' }) };
  return { result: params.slice(1).map(() => ({})) };
};

export interface OvsdbHarness {
  readonly clock: ManualClock;
  readonly daemon: FakeDaemon;
  readonly states: ReconnectState[];
  readonly client: OvsdbClient;
}

export function start(answers: Answers = usual, options: Partial<OvsdbClientOptions> = {}): OvsdbHarness {
  const clock = new ManualClock();
  const daemon = new FakeDaemon(answers);
  const states: ReconnectState[] = [];
  const client = new OvsdbClient({
    address: 'unix:/not/used',
    dial: daemon.dial,
    clock,
    random: () => 1,
    requestTimeoutMs: 1000,
    probeAfterMs: 3000,
    onState: (state) => states.push(state),
    ...options,
  });
  onTestFinished(() => client.close());
  return { clock, daemon, states, client };
}

/** The error that a promise ends with; called before the promise is awaited. */
export function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => new Error('it did not fail'),
    (error: unknown) => error,
  );
}

export const COMMENT = [{ op: 'comment', comment: 'x' }] as const;
