// The Debian package and the container image as their users meet them: built, installed into a new Debian, started, called, stopped. By
// its own script (npm run test:packaging): it fetches a Debian and takes minutes.
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import manifest from '../../../package.json' with { type: 'json' };
import { endChild } from '../../end-child.ts';
import { freePort } from '../../free-port.ts';
import { withTools } from '../install.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const MIRROR = process.env['DEBIAN_MIRROR'] ?? 'http://deb.debian.org/debian';
const run = async (program: string, ...args: string[]): Promise<string> => {
  const { stdout, stderr } = await promisify(execFile)(program, args, { maxBuffer: 64 << 20, cwd: ROOT });
  return stdout + stderr;
};

const TOOLS = [
  { program: 'lintian', name: 'lintian' },
  { program: 'debootstrap', name: 'debootstrap' },
  { program: 'buildah', name: 'buildah' },
];

await withTools(TOOLS, () => {
  describe('the package', () => {
    const work = mkdtempSync(join(tmpdir(), 'muster-package-'));
    const debian = join(work, 'debian');
    const inDebian = (...args: string[]): Promise<string> => run('chroot', debian, ...args);
    let deb: string;

    beforeAll(async () => {
      const built = await run(process.execPath, 'scripts/deb.ts', '--out', join(work, 'dist'));
      deb = join(work, 'dist', readdirSync(join(work, 'dist')).find((name) => name.endsWith('.deb')) ?? built);
      // One that debootstrap made before saves fetching it again.
      const made = process.env['DEBIAN_ROOT'];
      if (made === undefined) await run('debootstrap', '--variant=minbase', 'bookworm', debian, MIRROR);
      else await run('cp', '-a', made, debian);
    }, 1_800_000);
    afterAll(() => rmSync(work, { recursive: true, force: true }));

    test('lintian-finds-nothing', async () => {
      const found = await run('lintian', '--allow-root', '--fail-on', 'none', deb);
      expect(found.split('\n').filter((line) => /^[EW]: /.test(line))).toEqual([]);
    });

    test('it-builds-into-an-image-that-runs-as-an-unprivileged-user', async () => {
      const image = await buildImage(work, debian, deb);
      expect(await image.run('/usr/bin/muster', '--version')).toBe(`${manifest.version}\n`);
      expect(await image.run('id', '--user')).toBe('10001\n');
      const command =
        'exec 3>&1; muster serve --data /var/lib/muster --listen 127.0.0.1:7070 >/dev/null 2>&1 & server=$!; ';
      const health = image.health.map((word) => `'${word}'`).join(' ');
      const said = await image.run(
        'sh',
        '-c',
        `${command} until ${health}; do sleep 0.2; done; echo healthy; kill $server; wait $server; echo $?`,
      );
      expect(said).toBe('healthy\n0\n');
    });

    test('it-installs-serves-as-its-own-user-and-is-removed', async () => {
      cpSync(deb, join(debian, 'root/muster.deb'));
      await inDebian('dpkg', '--install', '/root/muster.deb');
      expect(await inDebian('muster', '--version')).toBe(`${manifest.version}\n`);
      expect(await inDebian('stat', '--format=%A %U %G', '/etc/muster', '/etc/default/muster')).toBe(
        'drwxr-x--- root muster\n-rw-r----- root muster\n',
      );
      await inDebian('install', '-d', '-m', '0700', '-o', 'muster', '-g', 'muster', '/var/lib/muster');
      const port = await freePort();
      const serve = ['muster', 'serve', '--data', '/var/lib/muster', '--listen', `127.0.0.1:${port}`];
      const server = spawn('chroot', ['--userspec=muster:muster', debian, ...serve], { stdio: 'ignore' });
      await isReady(server, port);
      await endChild(server, 'SIGTERM');
      expect(server.exitCode).toBe(0);
      expect(await inDebian('stat', '--format=%U', '/var/lib/muster/muster.db')).toBe('muster\n');
      await inDebian('dpkg', '--purge', 'muster');
      expect(await inDebian('sh', '-c', 'ls /usr/lib/muster /etc/muster /etc/default/muster 2>/dev/null || true')).toBe(
        '',
      );
      expect(await inDebian('ls', '/var/lib/muster')).toContain('muster.db');
    });
  });
});

async function isReady(server: ChildProcess, port: number): Promise<void> {
  while (server.exitCode === null) {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
    if (answer?.status === 200) return;
    await new Promise((resolve_) => setTimeout(resolve_, 100));
  }
  throw new Error(`the server ended with ${server.exitCode}`);
}

interface Image {
  readonly health: readonly string[];
  run(...args: string[]): Promise<string>;
}

/** With buildah alone: no engine runs here, and the base is the Debian that was just made, not one of a registry. */
async function buildImage(work: string, debian: string, deb: string): Promise<Image> {
  const storage = ['--root', join(work, 'storage'), '--runroot', join(work, 'run'), '--storage-driver', 'vfs'];
  const buildah = (...args: string[]): Promise<string> => run('buildah', ...storage, ...args);
  const context = join(work, 'context');
  mkdirSync(join(context, 'dist'), { recursive: true });
  cpSync(deb, join(context, 'dist', deb.slice(deb.lastIndexOf('/') + 1)));
  await run(
    'tar',
    '-C',
    debian,
    '-cf',
    join(work, 'base.tar'),
    '--exclude=./proc/*',
    '--exclude=./sys/*',
    '--exclude=./dev/*',
    '.',
  );
  const empty = (await buildah('from', 'scratch')).trim();
  await buildah('add', '--quiet', empty, join(work, 'base.tar'), '/');
  await buildah('commit', '--quiet', empty, 'localhost/muster-base');
  const recipe = join(ROOT, 'packaging/oci/Containerfile');
  const how = ['--isolation', 'chroot', '--format', 'docker', '--build-arg', 'BASE=localhost/muster-base'];
  await buildah('bud', ...how, '-f', recipe, '-t', 'muster', context);
  const inspected = JSON.parse(await buildah('inspect', '--type', 'image', 'localhost/muster')) as {
    readonly Docker: { readonly config: { readonly Healthcheck: { readonly Test: readonly string[] } } };
  };
  const container = (await buildah('from', 'localhost/muster')).trim();
  return {
    health: inspected.Docker.config.Healthcheck.Test.slice(1),
    run: (...args) => buildah('run', '--isolation', 'chroot', container, '--', ...args),
  };
}
