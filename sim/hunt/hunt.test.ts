import { spawn } from 'node:child_process';
import { mkdtempSync, existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { conclusion, progressLine } from './command.ts';
import { ThreadPlayer } from './thread-player.ts';
import { hunt, type FailedSeed, type Player, type SeedTask } from './hunt.ts';

/** Fails each seed that can be divided by three, and ends the hunt after some. */
class Dice implements Player {
  readonly played: SeedTask[] = [];
  readonly #end: AbortController;
  readonly #after: number;

  constructor(end: AbortController, after: number) {
    this.#end = end;
    this.#after = after;
  }

  play(quarry: SeedTask): Promise<{ property: string; message: string } | undefined> {
    this.played.push(quarry);
    if (this.played.length >= this.#after) this.#end.abort();
    return Promise.resolve(quarry.seed % 3 === 0 ? { property: 'never: three', message: `${quarry.seed}` } : undefined);
  }
}

const counting = (): (() => number) => {
  let next = 0;
  return () => (next += 1);
};

it('plays-all-worlds-in-turn-and-reports-each-failure-with-the-command-that-replays-it', async () => {
  const end = new AbortController();
  const player = new Dice(end, 8);
  const failures: FailedSeed[] = [];
  const result = await hunt({
    worlds: ['core', 'scale-in'],
    players: [player],
    draw: counting(),
    signal: end.signal,
    onFailure: (failure) => failures.push(failure),
    onPlayed: () => undefined,
  });
  expect(failures).toEqual([
    {
      world: 'core',
      seed: 3,
      property: 'never: three',
      message: '3',
      replay: 'npm run sim -- --world core --seed 3 --trace',
    },
    {
      world: 'scale-in',
      seed: 6,
      property: 'never: three',
      message: '6',
      replay: 'npm run sim -- --world scale-in --seed 6 --trace',
    },
  ]);
  // What was being played when it ended counts as not played.
  expect(result).toMatchObject({ played: 7, failed: 2 });
  expect(conclusion(result, 'f.jsonl')).toBe('7 fresh seeds played (core 4, scale-in 3), 2 failed; see f.jsonl');
  expect(progressLine(result, 30_000, 120_000)).toBe(
    '0.5 of 2.0 min: 7 seeds (core 4, scale-in 3), 2 failed, 0.2 a second',
  );
});

it('a-player-that-never-answers-does-not-keep-the-hunt-from-ending', async () => {
  const end = new AbortController();
  const hung: Player = { play: () => new Promise(() => undefined) };
  const running = hunt({
    worlds: ['core'],
    players: [hung, new Dice(end, 3)],
    draw: counting(),
    signal: end.signal,
    onFailure: () => undefined,
    onPlayed: () => undefined,
  });
  await expect(running).resolves.toMatchObject({ played: 2 });
});

function command(...args: readonly string[]): ReturnType<typeof spawn> {
  return spawn(process.execPath, ['sim/run.ts', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
}

function ended(child: ReturnType<typeof spawn>): Promise<{ readonly code: number | null; readonly stdout: string }> {
  let stdout = '';
  child.stdout?.on('data', (data: Buffer) => (stdout += data.toString()));
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, stdout })));
}

it('a-thread-plays-one-seed-after-the-other', async () => {
  const player = new ThreadPlayer();
  onTestFinished(() => player.stop());
  for (const seed of [1, 2]) await expect(player.play({ world: 'core', seed })).resolves.toBeUndefined();
});

it('ctrl-c-ends-the-command-with-what-was-played', async () => {
  const failures = join(mkdtempSync(join(tmpdir(), 'muster-hunt-')), 'failures.jsonl');
  const child = command('--hunt', '60', '--world', 'core', '--jobs', '1', '--failures', failures);
  const done = ended(child);
  await new Promise((resolve) => child.stderr?.once('data', resolve)); // the first line of progress
  child.kill('SIGINT');
  const { code, stdout } = await done;
  expect(stdout).toMatch(/^\d+ fresh seeds played \(core \d+\), \d+ failed/);
  // A failure of a fresh seed is news for a person, not for this test.
  expect(code).toBe(existsSync(failures) ? 1 : 130);
});

it('refuses a time that is none, and says how it is used', async () => {
  await expect(ended(command('--hunt', 'soon'))).resolves.toMatchObject({ code: 2, stdout: '' });
});
