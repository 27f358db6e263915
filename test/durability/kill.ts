// One round of kill -9: start a writer, kill it at a random moment, answer what it had acknowledged.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { readAll, replay, snapshotOf } from '../../src/journal/contract/world.ts';
import { expect } from 'vitest';
import type { Store } from '../../src/journal/store.ts';

// From within the first group to some hundred groups.
const LIFE_MAX_MS = 60;
// Some die while they start: while they open the store, or make its schema.
const DIES_EARLY_SHARE = 0.2;
const START_MAX_MS = 200;

const WRITER = new URL('writer.ts', import.meta.url).pathname;

export async function killedWriter(kind: string, target: string, name: string): Promise<readonly string[]> {
  const writer = spawn(process.execPath, [WRITER, kind, target, name], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let complaint = '';
  writer.stdout.on('data', (bytes: Buffer) => {
    output += bytes.toString();
  });
  writer.stderr.on('data', (bytes: Buffer) => {
    complaint += bytes.toString();
  });
  const closed = once(writer, 'close');
  const firstAnswer = Promise.race([once(writer.stdout, 'data'), closed]);
  if (Math.random() < DIES_EARLY_SHARE) await setTimeout(Math.random() * START_MAX_MS);
  else await firstAnswer.then(() => setTimeout(Math.random() * LIFE_MAX_MS));
  writer.kill('SIGKILL');
  await closed;
  if (writer.signalCode !== 'SIGKILL') throw new Error(`the writer ended by itself: ${complaint}`);
  return acknowledged(output);
}

/** Whole lines only: the kill may have cut the last one. */
export function acknowledged(output: string): readonly string[] {
  const lines = output.slice(0, output.lastIndexOf('\n') + 1).split('\n');
  return lines.filter((line) => line.startsWith('ack ')).map((line) => line.slice('ack '.length));
}

/** Everything acknowledged is there, in order and without gaps, and nothing is half there. */
export async function expectWhole(store: Store, expected: readonly string[]): Promise<void> {
  const commits = await readAll(store, { revision: 0 }, 1000);
  expect(commits.map((one) => one.revision)).toEqual(commits.map((_, index) => index + 1));
  const there = new Set(commits.map((one) => one.id));
  expect(expected.filter((id) => !there.has(id))).toEqual([]);
  const { position, resources } = await snapshotOf(store);
  expect(resources).toEqual(replay([], commits));
  expect(position.revision).toBe(commits.length);
  expect(halfGroups([...there])).toEqual([]);
}

/** Group `nth` of the writer has 1 + nth % 4 commits: fewer means that a group was torn. */
function halfGroups(ids: readonly string[]): readonly string[] {
  const sizes = new Map<string, number>();
  for (const id of ids) {
    const group = id.slice(0, id.lastIndexOf('-'));
    sizes.set(group, (sizes.get(group) ?? 0) + 1);
  }
  return [...sizes]
    .filter(([group, size]) => size !== 1 + (Number(group.split('-').at(-1)) % 4))
    .map(([group]) => group);
}
