import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { checkPrivateFolder } from './private-folder.ts';

/** Of the machine: no package brings it. */
const MKFIFO: string = 'mkfifo';

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'muster-private-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

test('what-is-neither-a-file-nor-a-folder-is-refused: whoever opens a pipe waits for somebody', () => {
  const folder = newFolder();
  execFileSync(MKFIFO, [join(folder, 'admin-token')]);
  expect(() => checkPrivateFolder(folder, '--data')).toThrow(/admin-token is not a file, .* planted/);
});

test('folders-inside-are-made-private-as-folders, files-as-files', () => {
  const folder = newFolder();
  mkdirSync(join(folder, 'audit'));
  chmodSync(join(folder, 'audit'), 0o755);
  writeFileSync(join(folder, 'muster.db'), '');
  chmodSync(join(folder, 'muster.db'), 0o640);
  checkPrivateFolder(folder, '--data');
  expect([modeOf(join(folder, 'audit')), modeOf(join(folder, 'muster.db'))]).toEqual(['700', '600']);
});
