// The thread that plays the seeds it is sent, one after the other, and answers each with the violation found.
import { parentPort } from 'node:worker_threads';
import { SCENARIOS } from '../scenarios.ts';
import { runSeed } from '../seed.ts';
import type { SeedTask } from './hunt.ts';

const NO_TRANSFER: never[] = [];

parentPort?.on('message', ({ world, seed }: SeedTask) => {
  const scenario = SCENARIOS.find(({ name }) => name === world);
  if (scenario === undefined) throw new Error(`there is no world ${world}`);
  void runSeed({ scenario, seed }).then(({ violation }) => parentPort?.postMessage(violation ?? null, NO_TRANSFER));
});
