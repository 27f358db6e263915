// The record of a runtime, by agents of this version and of those before: neither may take an instance for what it is not.
import { expect, test } from 'vitest';
import { INSTANCE_POWER_STATES, type RuntimeInstance } from './instance-runtime.ts';
import { readRuntimeState, writeRuntimeState } from './runtime-state.ts';

const PLAIN = { vcpus: 1, memoryMiB: 64, diskGiB: 1, nics: [], by: 't1' };
const STATES = INSTANCE_POWER_STATES.filter((state) => state !== 'sent');
const instances: readonly RuntimeInstance[] = STATES.map((state) => ({ ...PLAIN, id: `a-${state}`, state }));

function read(text: string): readonly string[] | string {
  const state = readRuntimeState(text);
  return typeof state === 'string' ? state : state.instances.map(({ id, state: power }) => `${id} ${power}`);
}

/** As an agent of the version before reads it, and writes it again with the fields that it does not know. */
function parsed(text: string): { instances: { id: string; state: string; awaited?: true }[]; sent: string[][] } {
  const { sha256: _, ...body } = JSON.parse(text) as { sha256: string };
  return body as never;
}

test('every-state-is-read-back', () => {
  const text = writeRuntimeState({ instances, sent: [['i9', 'h2']] });
  const state = readRuntimeState(text);
  expect(state).toEqual({ instances, sent: [['i9', 'h2']] });
});

test('an-older-agent-finds-only-what-it-knows, and-nothing-that-it-may-not-run', () => {
  const { instances: found, sent } = parsed(writeRuntimeState({ instances, sent: [['i9', 'h2']] }));
  expect(found.map(({ id, state, awaited = false }) => `${id} ${state} ${awaited}`)).toEqual([
    'a-prepared prepared true',
    'a-received prepared false',
    'a-running running false',
    'a-stopped stopped false',
    'a-ended running false',
  ]);
  expect(sent).toEqual([['i9', 'h2']]);
});

test('what-an-older-agent-changed-counts, and-not-what-it-kept', () => {
  const former = parsed(writeRuntimeState({ instances, sent: [] }));
  for (const instance of former.instances) if (instance.id === 'a-running') instance.state = 'stopped';
  for (const instance of former.instances) if (instance.id === 'a-prepared') instance.state = 'running';
  expect(read(JSON.stringify(former))).toEqual([
    'a-prepared running',
    'a-received received',
    'a-running stopped',
    'a-stopped stopped',
    'a-ended ended',
  ]);
});

test('a-record-of-an-older-agent-is-read: what-it-did-not-wait-for-has-arrived', () => {
  const plain = (id: string, state: string, awaited?: true): object => ({
    ...PLAIN,
    id,
    state,
    ...(awaited && { awaited }),
  });
  const former = {
    instances: [plain('i1', 'running'), plain('i2', 'prepared', true), plain('i3', 'prepared')],
    sent: [],
  };
  expect(read(JSON.stringify(former))).toEqual(['i1 running', 'i2 prepared', 'i3 received']);
});
