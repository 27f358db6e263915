// Plays seeds in a thread of its own. If the thread dies or does not finish, the seed has failed; the next one is played by a new thread.
import { Worker } from 'node:worker_threads';
import type { Violation } from '../world/world.ts';
import type { Player, SeedTask } from './hunt.ts';

/** A seed takes seconds; one that takes this long on a loaded machine does not end. */
const SEED_LIMIT_MS = 600_000;
const NO_TRANSFER: never[] = [];

export class ThreadPlayer implements Player {
  #worker: Worker | undefined;

  async play(quarry: SeedTask): Promise<Violation | undefined> {
    const worker = (this.#worker ??= new Worker(new URL('./player-process.ts', import.meta.url)));
    const outcome = await answerOf(worker, quarry);
    if (outcome.kind === 'played') return outcome.violation;
    this.#worker = undefined;
    await worker.terminate();
    return { property: 'never: a seed ends its process or does not end', message: outcome.message };
  }

  async stop(): Promise<void> {
    await this.#worker?.terminate();
    this.#worker = undefined;
  }
}

type Outcome =
  | { readonly kind: 'played'; readonly violation: Violation | undefined }
  | { readonly kind: 'died'; readonly message: string };

function answerOf(worker: Worker, quarry: SeedTask): Promise<Outcome> {
  return new Promise((resolve) => {
    const onMessage = (violation: Violation | null): void => end({ kind: 'played', violation: violation ?? undefined });
    const onError = (error: unknown): void =>
      end({ kind: 'died', message: error instanceof Error ? error.message : String(error) });
    const onExit = (code: number): void => end({ kind: 'died', message: `its thread ended with ${code}` });
    const limit = setTimeout(
      () => end({ kind: 'died', message: `it did not end within ${SEED_LIMIT_MS / 1000} s` }),
      SEED_LIMIT_MS,
    );
    const end = (outcome: Outcome): void => {
      clearTimeout(limit);
      // One by one: a worker has listeners of its own, without which it receives nothing any more.
      worker.off('message', onMessage).off('error', onError).off('exit', onExit);
      resolve(outcome);
    };
    worker.on('message', onMessage).on('error', onError).on('exit', onExit);
    worker.postMessage(quarry, NO_TRANSFER);
  });
}
