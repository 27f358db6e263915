// The contract suite of reaches: every implementation passes all of it, on machines that the harness makes. What goes wrong with a machine that runs scripts is a
// part of its own.
import { describe, expect, test } from 'vitest';
import type { ClusterCallOptions } from '../cluster-api/cluster-api.ts';
import type { JoinCall, Reach, ReachAnswer } from './reach.ts';

export interface ReachHarness {
  readonly reach: Reach;
  readonly call: JoinCall;
  /** Whether it is a Node, or would be one. */
  isJoined(): Promise<boolean>;
}

/** What a script does in place of joining; each first appends a line to what `ranTimes` counts. */
export type ScriptFault =
  /** Until it is ended. */
  'hangs' | 'floods' | 'writes-much' | 'fails' | 'ends-without-joining' | 'is-silent' | 'leaves-something-running';

/** What is wrong with the machine, or with the way to it. */
export type ReachFault =
  'wrong-host-key' | 'wrong-password' | 'wrong-key' | 'unreadable-key' | 'refused' | 'mute' | 'repeats-secret';

export interface FaultyHarness extends Omit<ReachHarness, 'reach'> {
  /** Of a machine whose script does this. */
  withScript(fault: ScriptFault): Reach;
  /** Undefined where the machine cannot have it; says why. */
  withMachine(fault: ReachFault): Promise<Reach | string>;
  /** How often a script was begun. */
  ranTimes(): number;
  /** Whether anything that a script started lives still. */
  isRunning(): Promise<boolean>;
  /** Cuts every connection that there is. */
  cut(): void;
  until(what: string, holds: () => boolean | Promise<boolean>): Promise<void>;
  /** What no answer may repeat. */
  readonly secrets: readonly string[];
}

const HOW: ClusterCallOptions = { signal: new AbortController().signal };
const ENDED_WELL = { kind: 'ended', exitCode: 0 };
const LOG_BYTES = 16 * 1024;

export function describeReach(name: string, start: () => Promise<ReachHarness>): void {
  describe(`reach: ${name}`, () => {
    test('a-machine-is-contacted, and proves itself by the same each time', async () => {
      const { reach } = await start();
      const first = await reach.contact(HOW);
      expect(first).toMatchObject({ kind: 'contacted' });
      expect(await reach.contact(HOW)).toEqual(first);
    });

    test('a-machine-joins, also when it has joined already', async () => {
      const { reach, call, isJoined } = await start();
      expect(await reach.join(call, HOW)).toMatchObject(ENDED_WELL);
      expect(await isJoined()).toBe(true);
      expect(await reach.join(call, HOW)).toMatchObject(ENDED_WELL);
      expect(await isJoined()).toBe(true);
    });

    test('two-joins-at-once-are-one', async () => {
      const { reach, call, isJoined } = await start();
      const answers = await Promise.all([reach.join(call, HOW), reach.join(call, HOW)]);
      for (const answer of answers) expect(answer).toMatchObject(ENDED_WELL);
      expect(await isJoined()).toBe(true);
    });

    test('a-machine-leaves, also one that has not joined', async () => {
      const { reach, call } = await start();
      expect(await reach.leave(call, HOW)).toMatchObject(ENDED_WELL);
      await reach.join(call, HOW);
      expect(await reach.leave(call, HOW)).toMatchObject(ENDED_WELL);
      expect(await reach.leave(call, HOW)).toMatchObject(ENDED_WELL);
    });

    test('what-is-aborted-before-it-begins-does-nothing', async () => {
      const { reach, call, isJoined } = await start();
      const aborted = { signal: AbortSignal.abort(new Error('told to end')) };
      await expect(reach.join(call, aborted)).rejects.toThrow('told to end');
      await expect(reach.contact(aborted)).rejects.toThrow('told to end');
      await expect(reach.leave(call, aborted)).rejects.toThrow('told to end');
      expect(await isJoined()).toBe(false);
    });
  });
}

/** For reaches that run a script on a machine. */
export function describeMachineFaults(name: string, start: () => Promise<FaultyHarness>): void {
  describe(`faults of a machine: ${name}`, () => {
    test.each([
      ['wrong-host-key', 'wrong-host-key'],
      ['wrong-password', 'login-refused'],
      ['wrong-key', 'login-refused'],
      ['unreadable-key', 'login-refused'],
      ['refused', 'unreachable'],
      ['mute', 'unreachable'],
      ['repeats-secret', 'unreachable'],
    ] as const)('%s: the answer is %s, and nothing ran there', async (fault, kind) => {
      const harness = await start();
      const reach = await harness.withMachine(fault);
      if (typeof reach === 'string') return;
      const answers = [await reach.join(harness.call, HOW), await reach.leave(harness.call, HOW)];
      for (const answer of answers) expect(answer).toMatchObject({ kind });
      expect(harness.ranTimes()).toBe(0);
      expectNoSecrets(harness, answers);
      if (kind === 'unreachable') expect(await reach.contact(HOW)).toMatchObject({ kind });
    });

    test('another-host-key-is-named, with the one that is expected', async () => {
      const harness = await start();
      const reach = await harness.withMachine('wrong-host-key');
      if (typeof reach === 'string') return;
      const found = expect.stringMatching(/^SHA256:[\w+/]{43}$/) as string;
      const answer = await reach.join(harness.call, HOW);
      expect(answer).toMatchObject({ kind: 'wrong-host-key', expected: found, found });
      if (answer.kind === 'wrong-host-key') expect(answer.found).not.toBe(answer.expected);
      expect(await reach.contact(HOW)).toEqual(answer);
    });

    test('a-script-that-hangs-is-ended-by-an-abort, with what it started', async () => {
      const harness = await start();
      const stop = new AbortController();
      const joined = harness.withScript('hangs').join(harness.call, { signal: stop.signal });
      await harness.until('the script runs', () => harness.isRunning());
      stop.abort(new Error('told to end'));
      expect(await joined).toMatchObject({
        kind: 'cut-off',
        output: { text: expect.stringContaining('begun') as string },
      });
      expect(await harness.isRunning()).toBe(false);
      expect(harness.ranTimes()).toBe(1);
    });

    test('a-script-whose-connection-is-cut-does-not-go-on', async () => {
      const harness = await start();
      const joined = harness.withScript('hangs').join(harness.call, HOW);
      await harness.until('the script runs', () => harness.isRunning());
      harness.cut();
      expect(await joined).toMatchObject({ kind: 'cut-off' });
      await harness.until('it was ended there', async () => !(await harness.isRunning()));
      expect(await harness.isJoined()).toBe(false);
    });

    test('a-script-that-writes-without-end-is-ended, and the last of it kept', async () => {
      const harness = await start();
      const answer = await harness.withScript('floods').join(harness.call, HOW);
      expect(answer).toMatchObject({ kind: 'cut-off', text: expect.stringContaining('bytes') as string });
      expectBounded(answer);
      expect(await harness.isRunning()).toBe(false);
    });

    test('a-script-that-is-silent-for-too-long-is-ended', async () => {
      const harness = await start();
      const answer = await harness.withScript('is-silent').join(harness.call, HOW);
      expect(answer).toMatchObject({ kind: 'cut-off', text: expect.stringContaining('wrote nothing') as string });
      expect(await harness.isRunning()).toBe(false);
    });

    test('of-much-output-the-last-is-kept, without secrets and control characters', async () => {
      const harness = await start();
      const answer = await harness.withScript('writes-much').join(harness.call, HOW);
      expect(answer).toMatchObject(ENDED_WELL);
      expectBounded(answer);
      expectNoSecrets(harness, [answer]);
      const text = 'output' in answer ? answer.output.text : '';
      expect(text).toContain('[secret]');
      expect(text).toContain(String.raw`\u001b[31m`);
      expect(text).toMatch(/the last line\n$/);
      expect(text).not.toMatch(new RegExp(String.raw`[\u0000-\u0008\u000b-\u001f\u007f]`));
    });

    test('an-exit-code-is-answered, with what was written before', async () => {
      const harness = await start();
      const answer = await harness.withScript('fails').join(harness.call, HOW);
      expect(answer).toEqual({ kind: 'ended', exitCode: 7, output: { text: 'begun\nit failed\n', isCut: false } });
    });

    test('a-script-that-ends-well-has-proved-nothing', async () => {
      const harness = await start();
      const answer = await harness.withScript('ends-without-joining').join(harness.call, HOW);
      expect(answer).toMatchObject(ENDED_WELL);
      expect(await harness.isJoined()).toBe(false);
    });

    test('what-a-script-leaves-running-holds-nothing-up', async () => {
      const harness = await start();
      const reach = harness.withScript('leaves-something-running');
      expect(await reach.join(harness.call, HOW)).toMatchObject(ENDED_WELL);
    });
  });
}

function expectBounded(answer: ReachAnswer): void {
  const { output } = answer as Extract<ReachAnswer, { readonly output: unknown }>;
  expect(output.isCut).toBe(true);
  expect(Buffer.byteLength(output.text)).toBeLessThanOrEqual(LOG_BYTES);
  expect(Buffer.byteLength(output.text)).toBeGreaterThan(LOG_BYTES / 2);
}

function expectNoSecrets({ secrets }: FaultyHarness, answers: readonly ReachAnswer[]): void {
  const text = JSON.stringify(answers);
  for (const secret of secrets) expect(text).not.toContain(secret);
}
