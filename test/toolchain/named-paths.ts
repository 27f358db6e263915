// The paths that a document names in backticks, and which of them do not exist. A file may be named from the root, or from src/.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './scratch.ts';

const AREAS = /^(src|sim|test|bench|lab|scripts|docs|packaging)\/[\w./*-]*$/;
const FOLDER = /^[a-z][\w-]*\/([\w-]+\/)*$/;
const SOURCE_FILE = /^[\w./*-]+\.(ts|js)$/;

export function namedPaths(document: string): string[] {
  const text = readFileSync(join(ROOT, document), 'utf8');
  const quoted = [...text.matchAll(/`([^`\n]+)`/g)].map(([, name]) => name ?? '');
  return quoted.filter((name) => SOURCE_FILE.test(name) || FOLDER.test(name) || AREAS.test(name));
}

export function missingPaths(document: string): string[] {
  return namedPaths(document).filter((path) => !exists(path) && !exists(`src/${path}`) && !isUsualName(path));
}

/** `model.ts`: what such files are called in every module. */
function isUsualName(path: string): boolean {
  return !path.includes('/') && globSync(`src/**/${path}`, { cwd: ROOT }).length > 1;
}

function exists(path: string): boolean {
  return path.includes('*') ? globSync(path, { cwd: ROOT }).length > 0 : existsSync(join(ROOT, path));
}
