// The program `muster`. Modules that a command does not need are not loaded: most commands only call a server.
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import manifest from '../../package.json' with { type: 'json' };

// Most of a short command's time is spent on reading sources. Where the cache is not writable, nothing is cached.
enableCompileCache(fileURLToPath(new URL('../../node_modules/.cache/muster', import.meta.url)));

const { version } = manifest;
const words = process.argv.slice(2);

if (words.length === 1 && (words[0] === '--version' || words[0] === '-V')) process.stdout.write(`${version}\n`);
else process.exitCode = await run();

async function run(): Promise<number> {
  const { runCli, realTerminal } = await import('../cli/index.ts');
  return runCli(words, {
    terminal: realTerminal(),
    version,
    starters: {
      serve: async (options) => (await import('./serve.ts')).serve(options as never, version),
      demo: async (options) => (await import('./demo.ts')).runDemo(options as never, version),
      agent: async (options) => (await import('./agent.ts')).runAgent(options as never),
    },
    stores: {
      verify: async (request) => (await stores()).verify(request),
      backup: async (request) => (await stores()).backup(request),
      restore: async (request) => (await stores()).restore(request),
    },
    node: {
      compareSwitch: async (options) => (await import('./node-tools.ts')).compareSwitch(options),
      showKeys: async (folder, tlsCert) => (await keys()).showKeyFile(folder, tlsCert),
      createKeys: async (folder) => (await keys()).createKeyFile(folder),
      rotateKeys: async (folder, overlapMs) => (await keys()).rotateKeyFile(folder, overlapMs),
      tracePacket: async (options) => (await import('./node-tools.ts')).tracePacket(options),
    },
  });
}

/** Both write into data folders, as servers do. */
async function keys() {
  await writePrivately();
  return import('./key-tools.ts');
}

async function stores() {
  await writePrivately();
  const { storeTools } = await import('./store-tools.ts');
  return storeTools(version, () => Date.now());
}

async function writePrivately(): Promise<void> {
  (await import('./private-folder.ts')).writePrivateFilesOnly();
}
