// `npm run sim -- --hunt MINUTES`: the command around the hunt. Failures are appended to a file as they are found, so that none is lost
// when the machine or the terminal goes down.
import { randomInt } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { hunt, type HuntProgress } from './hunt.ts';
import { ThreadPlayer } from './thread-player.ts';

export interface HuntCommand {
  readonly worlds: readonly string[];
  readonly minutes: number;
  readonly jobs: number;
  readonly failuresFile: string;
}

export const DEFAULT_FAILURES_FILE = 'sim-failures.jsonl';
const SEED_LIMIT = 2 ** 31;
const PROGRESS_MS = 2000;
const INTERRUPTED = 130;

/** The exit code. */
export async function runHunt({ worlds, minutes, jobs, failuresFile }: HuntCommand): Promise<number> {
  const startedMs = performance.now();
  const end = new AbortController();
  const timer = setTimeout(() => end.abort('time'), minutes * 60_000);
  const interrupt = (): void => end.abort('interrupted');
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, interrupt);
  const players = Array.from({ length: jobs }, () => new ThreadPlayer());
  const isTerminal = process.stderr.isTTY;
  let shownMs = startedMs;
  const result = await hunt({
    worlds,
    players,
    draw: () => randomInt(1, SEED_LIMIT),
    signal: end.signal,
    onFailure: (failure) => {
      appendFileSync(failuresFile, `${JSON.stringify(failure)}\n`);
      const { world, seed, property, message, replay } = failure;
      console.error(
        `${isTerminal ? '\r\u001b[K' : ''}${world} seed ${seed} FAILED: ${property}\n  ${message}\n  ${replay}`,
      );
    },
    onPlayed: (progress) => {
      const nowMs = performance.now();
      if (nowMs - shownMs < PROGRESS_MS) return;
      shownMs = nowMs;
      const line = progressLine(progress, nowMs - startedMs, minutes * 60_000);
      process.stderr.write(isTerminal ? `\r\u001b[K${line}` : `${line}\n`);
    },
  });
  clearTimeout(timer);
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.off(name, interrupt);
  await Promise.all(players.map((player) => player.stop()));
  if (isTerminal) process.stderr.write('\r\u001b[K');
  console.log(conclusion(result, failuresFile));
  if (result.failed > 0) return 1;
  return end.signal.reason === 'interrupted' ? INTERRUPTED : 0;
}

export function defaultJobs(): number {
  return availableParallelism();
}

function counts({ byWorld }: HuntProgress): string {
  return [...byWorld].map(([world, count]) => `${world} ${count}`).join(', ');
}

export function progressLine(progress: HuntProgress, elapsedMs: number, ofMs: number): string {
  const { played, failed } = progress;
  const perSecond = ((played / elapsedMs) * 1000).toFixed(1);
  return `${minutesOf(elapsedMs)} of ${minutesOf(ofMs)} min: ${played} seeds (${counts(progress)}), ${failed} failed, ${perSecond} a second`;
}

export function conclusion(progress: HuntProgress, failuresFile: string): string {
  const { played, failed } = progress;
  const where = failed === 0 ? '' : `; see ${failuresFile}`;
  return `${played} fresh seeds played (${counts(progress)}), ${failed} failed${where}`;
}

function minutesOf(ms: number): string {
  return (ms / 60_000).toFixed(1);
}
