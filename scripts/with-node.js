// Starts a script of this project with the pinned Node: `node scripts/with-node.js scripts/test.ts --help`. Needed because
// the Node in front of the PATH may be an older one, which cannot even load TypeScript.
import { resolve } from 'node:path';
import { runPinned } from '../bin/pinned-node.js';

const [script, ...args] = process.argv.slice(2);
if (script === undefined) {
  process.stderr.write('usage: node scripts/with-node.js <script> [arguments]\n');
  process.exitCode = 2;
} else {
  await runPinned(resolve(script), args);
}
