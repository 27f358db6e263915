// Makes the Debian package: `npm run deb` writes dist/muster_<version>_<architecture>.deb, with the pinned Node, the packages that
// Muster depends on as the lock file names them, units, alert rules and guides. It needs dpkg-deb and npm, and no root.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { changelogFile, controlFile, copyrightFile, type PackageFacts } from './deb/control.ts';

const ROOT = resolve(import.meta.dirname, '..');
const PACKAGING = join(ROOT, 'packaging');
const HOME = 'usr/lib/muster';

interface Manifest {
  readonly version: string;
  readonly optionalDependencies: Readonly<Record<string, string>>;
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly integrity?: string }>>;
}

const WRAPPER = `#!/bin/sh
exec /${HOME}/runtime/node --disable-warning=ExperimentalWarning /${HOME}/bin/muster.js "$@"
`;

/** Guides that are of use on the machine itself. */
const GUIDES = [
  'production.md',
  'operating.md',
  'upgrading.md',
  'scale-in.md',
  'networks.md',
  'instances.md',
  'api.md',
];

function run(program: string, args: readonly string[], cwd = ROOT): string {
  return execFileSync(program, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();
}

function put(stage: string, path: string, text: string | Buffer, mode = 0o644): void {
  mkdirSync(dirname(join(stage, path)), { recursive: true });
  writeFileSync(join(stage, path), text);
  chmodSync(join(stage, path), mode);
}

function zip(text: Buffer): Buffer {
  return gzipSync(text, { level: 9 });
}

/** The program: the stripped sources of the tarball, and the packages of the lock file. */
function fillProgram(stage: string, work: string): void {
  const home = join(stage, HOME);
  mkdirSync(home, { recursive: true });
  const tarball = run(process.execPath, ['scripts/dist.ts', '--out', work]).split('\n').at(-1) ?? '';
  run('tar', ['--extract', '--file', tarball, '--directory', home, '--strip-components=1']);
  mkdirSync(join(home, 'runtime'));
  cpSync(pinnedNode(), join(home, 'runtime/node'), { dereference: true });
  cpSync(lockedPackages(join(work, 'locked')), join(home, 'node_modules'), { recursive: true });
}

/** The packages that bring the pinned Node, with their version. */
function runtimePackages(): Readonly<Record<string, string>> {
  return (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest).optionalDependencies;
}

/** This very process runs on it. */
function pinnedNode(): string {
  const pinned = runtimePackages()[`node-${process.platform}-${process.arch}`];
  if (process.versions.node !== pinned)
    throw new Error(`this is Node ${process.versions.node}, Muster is pinned to ${pinned}: npm run deb`);
  return process.execPath;
}

/**
 * Installed beside the lock file, without install scripts; every one has the version and digest that the lock file names. By the manifest that
 * the lock file was made of: its overrides refer to development dependencies.
 */
function lockedPackages(folder: string): string {
  mkdirSync(folder);
  for (const name of ['package.json', 'package-lock.json']) cpSync(join(ROOT, name), join(folder, name));
  // Those that packages call optional are for other runtimes than Node and for builds of native code, which are not made here.
  const omitted = ['--omit=dev', '--omit=optional', '--ignore-scripts'];
  run('npm', ['install', ...omitted, '--prefer-offline', '--no-audit', '--no-fund'], folder);
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lock;
  const installed = JSON.parse(readFileSync(join(folder, 'node_modules/.package-lock.json'), 'utf8')) as Lock;
  for (const [path, { version, integrity }] of Object.entries(installed.packages)) {
    const locked = packages[path];
    if (locked === undefined || locked.version !== version || locked.integrity !== integrity)
      throw new Error(`${path} ${version} is not what package-lock.json names`);
  }
  const modules = join(folder, 'node_modules');
  // The wrapper starts the runtime itself: the packages that bring it would be a second copy.
  for (const name of [...Object.keys(runtimePackages()), '.bin', '.package-lock.json'])
    rmSync(join(modules, name), { recursive: true, force: true });
  for (const entry of readdirSync(modules, { recursive: true, withFileTypes: true })) {
    if (entry.name === 'package.json' && existsSync(entry.parentPath)) dropExtras(entry.parentPath);
    else if (entry.name.startsWith('.')) rmSync(join(entry.parentPath, entry.name), { recursive: true, force: true });
  }
  return modules;
}

/** What authors leave beside a package for those who work on it. Licences stay. */
const EXTRA =
  /^(prebuilds|tests?|spec|integration|__tests__|examples?|bench(marks?)?|docs|(?!LICEN).*\.(md|markdown|html|sh))$/;

function dropExtras(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (EXTRA.test(name)) rmSync(join(folder, name), { recursive: true });
  }
}

function fillSystem(stage: string, facts: PackageFacts): void {
  put(stage, 'usr/bin/muster', WRAPPER, 0o755);
  for (const unit of readdirSync(join(PACKAGING, 'systemd')))
    put(stage, `lib/systemd/system/${unit}`, readFileSync(join(PACKAGING, 'systemd', unit)));
  for (const name of ['muster', 'muster-agent'])
    put(stage, `etc/default/${name}`, readFileSync(join(PACKAGING, `debian/${name}.default`)));
  mkdirSync(join(stage, 'etc/muster'), { recursive: true });
  const rules = readFileSync(join(PACKAGING, 'prometheus/muster.rules.yml'));
  put(stage, 'usr/share/muster/prometheus/muster.rules.yml', rules);
  const doc = 'usr/share/doc/muster';
  put(stage, `${doc}/changelog.gz`, zip(readFileSync(join(ROOT, 'CHANGELOG.md'))));
  put(stage, `${doc}/changelog.Debian.gz`, zip(Buffer.from(changelogFile(facts))));
  put(stage, `${doc}/copyright`, copyrightFile(facts.version));
  for (const guide of GUIDES) put(stage, `${doc}/${guide}`, readFileSync(join(ROOT, 'docs', guide)));
  put(stage, 'usr/share/man/man1/muster.1.gz', zip(readFileSync(join(PACKAGING, 'debian/muster.1'))));
  put(stage, 'usr/share/lintian/overrides/muster', readFileSync(join(PACKAGING, 'debian/lintian-overrides')));
}

function fillControl(stage: string, facts: PackageFacts): void {
  put(stage, 'DEBIAN/control', controlFile({ ...facts, installedKiB: sizeOf(stage) / 1024 }));
  put(stage, 'DEBIAN/conffiles', '/etc/default/muster\n/etc/default/muster-agent\n');
  for (const script of ['postinst', 'prerm', 'postrm'])
    put(stage, `DEBIAN/${script}`, readFileSync(join(PACKAGING, 'debian', script)), 0o755);
  const sums = run(
    'sh',
    ['-c', "find . -type f ! -path './DEBIAN/*' -printf '%P\\0' | sort -z | xargs -0 md5sum"],
    stage,
  );
  put(stage, 'DEBIAN/md5sums', `${sums}\n`);
}

function sizeOf(path: string): number {
  const { size } = lstatSync(path);
  return lstatSync(path).isDirectory()
    ? readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), size)
    : size;
}

/** Everything else is read by one of these, whatever its first line says. */
const PROGRAMS = /\/(usr\/bin\/muster|runtime\/node|DEBIAN\/(postinst|prerm|postrm))$/;

/** Modes and times that do not depend on who builds, when and with which umask. */
function normalizeModes(path: string, atSeconds: number): void {
  const stat = lstatSync(path);
  if (stat.isSymbolicLink()) return;
  if (stat.isDirectory()) for (const name of readdirSync(path)) normalizeModes(join(path, name), atSeconds);
  chmodSync(path, stat.isDirectory() || PROGRAMS.test(path) ? 0o755 : 0o644);
  utimesSync(path, atSeconds, atSeconds);
}

const { values } = parseArgs({ options: { out: { type: 'string', default: join(ROOT, 'dist') } } });
const out = resolve(values.out);
const work = join(out, 'deb');
rmSync(work, { recursive: true, force: true });
const stage = join(work, 'stage');
mkdirSync(stage, { recursive: true });
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest;
const epoch = process.env['SOURCE_DATE_EPOCH'] ?? run('git', ['log', '-1', '--format=%ct']);
const facts: PackageFacts = {
  version: `${version}-1`,
  architecture: run('dpkg', ['--print-architecture']),
  builtAtMs: Number(epoch) * 1000,
};
fillProgram(stage, work);
fillSystem(stage, facts);
fillControl(stage, facts);
normalizeModes(stage, Number(epoch));
const file = join(out, `muster_${facts.version}_${facts.architecture}.deb`);
process.env['SOURCE_DATE_EPOCH'] = epoch;
run('dpkg-deb', ['--root-owner-group', '-Zxz', '-z1', '--build', stage, file]);
rmSync(work, { recursive: true });
process.stdout.write(`${file}\n`);
