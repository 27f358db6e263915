// Runs a program of this project with the Node it is pinned to, whatever Node started this file. Plain JavaScript that
// Node 20 understands, and no dependencies: it must work before anything else does.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import nodeModule, { createRequire } from 'node:module';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const PINNED_MAJOR = '24';

// SQLite and type stripping announce themselves as experimental on every start, between the lines of our own output.
const NODE_OPTIONS = ['--disable-warning=ExperimentalWarning'];

/**
 * @param {string} entry the program's first file
 * @param {string[]} args
 */
export async function runPinned(entry, args) {
  if (process.versions.node.split('.')[0] === PINNED_MAJOR) {
    dropExperimentalWarnings();
    keepCompiledCode();
    process.argv = [process.execPath, entry, ...args];
    await import(pathToFileURL(entry).href);
    return;
  }
  const node = findPinnedNode();
  if (node === undefined) {
    process.stderr.write(missing());
    process.exitCode = 1;
    return;
  }
  startAndFollow(node, [...NODE_OPTIONS, entry, ...args]);
}

/** Types are stripped and code is compiled once, not at every start. Node 24 has it; without a place to write it does nothing. */
function keepCompiledCode() {
  nodeModule.enableCompileCache?.(fileURLToPath(new URL('../node_modules/.cache/muster', import.meta.url)));
}

/** The package may lie at another level when this one is a dependency or linked, so Node's own resolution finds it. */
function findPinnedNode() {
  try {
    const manifest = createRequire(import.meta.url).resolve('node/package.json');
    /** @type {{ bin: { node: string } }} */
    const { bin } = JSON.parse(readFileSync(manifest, 'utf8'));
    const node = join(dirname(manifest), bin.node);
    return existsSync(node) ? node : undefined;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

function missing() {
  return [
    `muster: Node ${PINNED_MAJOR} is needed, this is Node ${process.versions.node}, and the one that comes with muster is missing.`,
    'It is put in place by the install script of the npm package "node", which npm 12 runs only when it is allowed to.',
    'Where muster is installed, run one of these:',
    '  npm install-scripts approve node && npm rebuild node   (npm 12)',
    '  npm rebuild node                                       (npm 11 or older, after an install with --ignore-scripts)',
    `Or start muster with Node ${PINNED_MAJOR}.`,
    '',
  ].join('\n');
}

/**
 * @param {string} node
 * @param {string[]} args
 */
function startAndFollow(node, args) {
  const watch = ['--import', new URL('end-with-launcher.js', import.meta.url).href];
  const env = { ...process.env, MUSTER_LAUNCHER: String(process.pid) };
  const child = spawn(node, [...watch, ...args], { stdio: ['inherit', 'inherit', 'inherit', 'pipe'], env });
  // A terminal sends Ctrl-C and its hang-up to both of us; passing them on would make one into two, and programs take
  // the second one as "stop at once". Without a terminal they were meant for this process alone.
  const onTerminal = [process.stdin, process.stdout, process.stderr].some((stream) => stream.isTTY);
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  process.on('SIGINT', () => onTerminal || child.kill('SIGINT'));
  process.on('SIGHUP', () => onTerminal || child.kill('SIGHUP'));
  child.on('error', (error) => {
    process.stderr.write(`muster: ${node} does not start: ${error.message}\n`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    // Die of the same signal, so that whoever started us sees what happened; the code is for signals that do not kill.
    process.removeAllListeners(signal);
    process.exitCode = 128 + constants.signals[signal];
    process.kill(process.pid, signal);
  });
}

/** What --disable-warning does, for a process that is running already. */
function dropExperimentalWarnings() {
  const emitWarning = process.emitWarning.bind(process);
  process.emitWarning = (/** @type {[any, any?]} */ ...given) => {
    /** @type {string | { type?: string } | undefined} */
    const kind = given[1];
    const type = typeof kind === 'object' ? kind.type : kind;
    if (type !== 'ExperimentalWarning') emitWarning(...given);
  };
}
