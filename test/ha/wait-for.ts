import { setTimeout as sleep } from 'node:timers/promises';

/** Only a test that fails waits so long. */
const PATIENCE_MS = 240_000;

/** Waits for a condition that has to come; what it waits for is in the error if it does not. */
export async function waitFor<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  const deadlineAt = Date.now() + PATIENCE_MS;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > deadlineAt) throw new Error(`waited ${PATIENCE_MS / 1000} s in vain for ${what}`);
    await sleep(100);
  }
}
