// Makes the tarball: `npm run dist` writes dist/muster-<version>.tgz, with JavaScript in place of TypeScript. Node does
// not strip types inside node_modules, so what people install has to be stripped before.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { trimManifest } from './dist/manifest.ts';
import { toJavaScript } from './dist/strip.ts';
import { placeOf } from './lint/place.ts';

const ROOT = resolve(import.meta.dirname, '..');

/** Copied as they are. The dashboard and the guides are there once they are written. */
const AS_IS = ['bin', 'examples/kubernetes/worker.sh', 'README.md', 'LICENSE', 'CHANGELOG.md', 'web'];

function sourceFiles(): string[] {
  return readdirSync(join(ROOT, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1))
    .filter((path) => placeOf(path).role !== 'testing');
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

function fill(folder: string): void {
  for (const path of AS_IS) {
    if (existsSync(join(ROOT, path))) cpSync(join(ROOT, path), join(folder, path), { recursive: true });
  }
  for (const path of sourceFiles()) {
    const text = readFileSync(join(ROOT, path), 'utf8');
    if (path.endsWith('.ts')) write(join(folder, path.replace(/\.ts$/, '.js')), toJavaScript(text, path));
    else write(join(folder, path), text);
  }
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<string, unknown>;
  write(join(folder, 'package.json'), `${JSON.stringify(trimManifest(manifest), null, 2)}\n`);
}

const { values } = parseArgs({ options: { out: { type: 'string', default: join(ROOT, 'dist') } } });
const out = resolve(values.out);
const folder = join(out, 'package');
rmSync(folder, { recursive: true, force: true });
fill(folder);
const packed = execFileSync('npm', ['pack', folder, '--pack-destination', out, '--ignore-scripts', '--silent'], {
  encoding: 'utf8',
  cwd: out,
});
rmSync(folder, { recursive: true });
process.stdout.write(`${join(out, packed.trim())}\n`);
