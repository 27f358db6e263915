// The form of a backup: what its reader refuses although every byte may be as it was written, and what a writer leaves behind.
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { DumpHead, DumpSink } from '../journal/runtime.ts';
import { readBackup, writeBackup } from './backup-file.ts';

function newFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'muster-backup-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, 'backup');
}

const HEAD = { journalId: 'journal', revision: 1, hash: null, floorRevision: 0 } as unknown as DumpHead;
const ROW = { kind: 'note', id: 'n', revision: 1, body: '{}', digest: null };

async function dump(sink: DumpSink): Promise<void> {
  await sink.head(HEAD, async () => undefined);
  await sink.resources([ROW]);
}

const NOWHERE: DumpSink = { head: () => undefined, resources: () => undefined, commits: () => undefined };
const options = (path: string) => ({ path, version: '1', nowMs: 1 });

/** A file with these lines and an end whose digest is right. */
function writeLines(path: string, lines: readonly object[], counted: { resources: number; commits: number }): void {
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  const sha256 = createHash('sha256').update(text).digest('hex');
  writeFileSync(path, `${text}${JSON.stringify({ end: { ...counted, sha256 } })}\n`);
}

test.each<readonly [string, readonly object[], number, RegExp]>([
  [
    'of-a-later-format',
    [{ muster: 'backup', format: 3, head: HEAD }],
    0,
    /has format 3, and this program reads 1 and 2/,
  ],
  ['without-a-header', [{ resource: ['note', 'n', 1, '{}', null] }], 0, /not a backup/],
  ['with-a-line-of-another-kind', [{ muster: 'backup', format: 1, head: HEAD }, { more: 1 }], 0, /neither a document/],
  ['with-another-count-at-its-end', [{ muster: 'backup', format: 1, head: HEAD }], 1, /does not match/],
])('a-backup-%s-is-refused', async (_name, lines, resources, message) => {
  const path = newFile();
  writeLines(path, lines, { resources, commits: 0 });
  await expect(readBackup(path, NOWHERE)).rejects.toThrow(message);
});

// The program of 0.1.0 reads format 1 alone: it must not take documents with names that it does not know.
test.each([1, 2])('a-backup-of-format-%i-is-read', async (format) => {
  const path = newFile();
  writeLines(path, [{ muster: 'backup', format, head: HEAD }], { resources: 0, commits: 0 });
  expect(await readBackup(path, NOWHERE)).toEqual({ sha256: expect.any(String) as string });
});

test('never: a backup is written in the format that version 0.1.0 reads', async () => {
  const path = newFile();
  await writeBackup(dump, options(path));
  expect(JSON.parse(readFileSync(path, 'utf8').split('\n')[0] ?? '')).toMatchObject({ format: 2 });
});

test('a-backup-is-its-owner-s-alone, also-one-that-takes-the-place-of-what-a-killed-one-left', async () => {
  const path = newFile();
  writeFileSync(`${path}.partial`, 'half', { mode: 0o644 });
  await writeBackup(dump, options(path));
  expect((statSync(path).mode & 0o777).toString(8)).toBe('600');
  expect(readdirSync(join(path, '..'))).toEqual(['backup']);
  expect(await readBackup(path, NOWHERE)).toEqual({ sha256: expect.any(String) as string });
});

test('a-backup-that-fails-leaves-nothing-behind', async () => {
  const path = newFile();
  const broken = async (sink: DumpSink): Promise<void> => {
    await dump(sink);
    throw new Error('the store is gone');
  };
  await expect(writeBackup(broken, options(path))).rejects.toThrow('the store is gone');
  expect(readdirSync(join(path, '..'))).toEqual([]);
});

test('what-is-handed-on-is-what-was-written', async () => {
  const path = newFile();
  await writeBackup(dump, options(path));
  const rows: unknown[] = [];
  await readBackup(path, { ...NOWHERE, resources: (page) => void rows.push(...page) });
  expect(rows).toEqual([ROW]);
  expect(readFileSync(path, 'utf8').split('\n')).toHaveLength(4);
});
