// Runs in every worker process before its test file is loaded: says which file this process runs, so that the test command can
// end the process of a file that hangs. Outside of the test command it does nothing.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { WORKERS_VARIABLE } from './hang-detector.ts';

const folder = process.env[WORKERS_VARIABLE];
const { testPath } = expect.getState();
if (folder !== undefined && testPath !== undefined) writeFileSync(join(folder, String(process.pid)), testPath);
