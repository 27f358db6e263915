#!/usr/bin/env node
// The command `muster`. In the repository it runs the TypeScript sources, in the tarball the JavaScript made of them.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runPinned } from './pinned-node.js';

const main = fileURLToPath(new URL('../src/main', import.meta.url));
const source = join(main, 'main.ts');
await runPinned(existsSync(source) ? source : join(main, 'main.js'), process.argv.slice(2));
