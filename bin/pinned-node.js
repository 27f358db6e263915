// Runs a program of this project with the Node it is pinned to, whatever Node started this file. Plain JavaScript that
// Node 20 understands, and no dependencies: it must work before anything else does.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import nodeModule, { createRequire } from 'node:module';
import { constants } from 'node:os';
import { dirname, join, sep } from 'node:path';
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
    resolveWithoutSearching();
    process.argv = [process.execPath, entry, ...args];
    await import(pathToFileURL(entry).href);
    return;
  }
  const found = findPinnedNode();
  if ('problem' in found) {
    process.stderr.write(missing(found.problem));
    process.exitCode = 1;
    return;
  }
  startAndFollow(found.node, [...NODE_OPTIONS, entry, ...args]);
}

/** Types are stripped and code is compiled once, not at every start. Node 24 has it; without a place to write it does nothing. */
function keepCompiledCode() {
  nodeModule.enableCompileCache?.(fileURLToPath(new URL('../node_modules/.cache/muster', import.meta.url)));
}

/**
 * Modules name their neighbours by the whole path, ending included: it need not be searched for on the disk, nor its package and its
 * links, which takes a fifth of the time of a start. All else, such as packages by name, is resolved as ever.
 */
function resolveWithoutSearching() {
  const own = new URL('../src/', import.meta.url).href;
  nodeModule.registerHooks?.({
    resolve(specifier, context, next) {
      const parent = context.parentURL ?? '';
      const format = specifier.startsWith('.') ? formatOfModule(specifier, parent.startsWith(own)) : undefined;
      if (format === undefined || !parent.startsWith('file:')) return next(specifier, context);
      return { url: new URL(specifier, parent).href, format, shortCircuit: true };
    },
  });
}

/**
 * Undefined where the package would have to be asked.
 * @param {string} path
 * @param {boolean} isOurs
 */
function formatOfModule(path, isOurs) {
  if (path.endsWith('.mjs')) return 'module';
  if (!isOurs) return undefined;
  return path.endsWith('.ts') ? 'module-typescript' : path.endsWith('.js') ? 'module' : undefined;
}

/**
 * The Node of the package for this platform, or why it is not to be started. What runs is what package-lock.json says: a package of
 * the pinned version, installed with the integrity that the lock file has, and a program that lies inside it.
 * @returns {{ node: string } | { problem: string }}
 */
function findPinnedNode() {
  const name = `node-${process.platform}-${process.arch}`;
  /** @type {{ optionalDependencies?: Record<string, string> }} */
  const { optionalDependencies = {} } = readJson(new URL('../package.json', import.meta.url));
  const pinned = optionalDependencies[name];
  if (pinned === undefined) return { problem: `none comes with muster for ${process.platform} on ${process.arch}.` };
  // The package may lie at another level when this one is a dependency or linked, so Node's own resolution finds it.
  const found = resolved(`${name}/package.json`);
  if (found === undefined) return { problem: 'the one that comes with muster is missing.' };
  /** @type {{ name?: string, version?: string, bin?: { node?: string } }} */
  const manifest = readJson(pathToFileURL(found));
  if (manifest.name !== name || manifest.version !== pinned) {
    return { problem: `${dirname(found)} is ${manifest.name} ${manifest.version}, not ${name} ${pinned}.` };
  }
  const folder = realpathSync(dirname(found));
  const node = join(folder, manifest.bin?.node ?? 'bin/node');
  if (!existsSync(node)) return { problem: `${node} is missing.` };
  if (!realpathSync(node).startsWith(folder + sep)) return { problem: `${node} leads out of its package.` };
  const problem = lockProblem(name);
  return problem === undefined ? { node } : { problem };
}

/**
 * npm notes the integrity of what it installed beside the packages. In a checkout it must be the one of the lock file; an installed
 * muster has no lock file of its own.
 * @param {string} name
 */
function lockProblem(name) {
  const wanted = integrityIn(new URL('../package-lock.json', import.meta.url), name);
  const installed = integrityIn(new URL('../node_modules/.package-lock.json', import.meta.url), name);
  if (wanted === undefined || installed === undefined || wanted === installed) return undefined;
  return `the ${name} that is installed is not the one that package-lock.json names.`;
}

/**
 * Undefined where there is no such file; empty where the file does not know the package.
 * @param {URL} lock
 * @param {string} name
 */
function integrityIn(lock, name) {
  if (!existsSync(lock)) return undefined;
  /** @type {{ packages?: Record<string, { integrity?: string }> }} */
  const { packages = {} } = readJson(lock);
  return packages[`node_modules/${name}`]?.integrity ?? '';
}

/**
 * @param {URL} file
 * @returns {object}
 */
function readJson(file) {
  return /** @type {object} */ (JSON.parse(readFileSync(file, 'utf8')));
}

/** @param {string} specifier */
function resolved(specifier) {
  try {
    return createRequire(import.meta.url).resolve(specifier);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

/** @param {string} problem */
function missing(problem) {
  return [
    `muster: Node ${PINNED_MAJOR} is needed and this is Node ${process.versions.node}: ${problem}`,
    'Where muster is installed, run "npm install", without --omit=optional.',
    `Or start muster with a Node ${PINNED_MAJOR} of your own.`,
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
  // A terminal sends Ctrl-C and its hang-up to both of us; passing them on would make one into two, and programs take
  // the second one as "stop at once". Without a terminal they were meant for this process alone.
  const onTerminal = [process.stdin, process.stdout, process.stderr].some((stream) => stream.isTTY);
  // Before the program is started: a signal that it gets first must not end this process.
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  process.on('SIGINT', () => onTerminal || child.kill('SIGINT'));
  process.on('SIGHUP', () => onTerminal || child.kill('SIGHUP'));
  const child = spawn(node, [...watch, ...args], { stdio: ['inherit', 'inherit', 'inherit', 'pipe'], env });
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
