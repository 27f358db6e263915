// The other end of `startQuickCheck`.
import { parentPort, workerData } from 'node:worker_threads';
import { quickCheck } from './quick-check.ts';

parentPort?.postMessage(quickCheck(workerData as string), []);
