// What other users of the machine may do about a data folder: read it, write to it, plant links in it, or make it themselves.
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { newFolder, run, startServer, start, type Ended } from '../cli/muster.ts';

const modeOf = (path: string): string => (lstatSync(path).mode & 0o7777).toString(8);
const SOMEBODY = 65_534;
const isRoot = process.getuid?.() === 0;

const template = join(newFolder(), 'data');
beforeAll(async () => {
  const server = await startServer(template);
  expect((await server.stop()).code).toBe(0);
});

/** A folder that a server has used and left. */
function usedFolder(): string {
  const data = join(newFolder(), 'data');
  cpSync(template, data, { recursive: true });
  chmodSync(data, 0o700);
  return data;
}

/** Refused before anything is opened; a server that starts all the same is stopped, and seen. */
async function serve(data: string): Promise<Ended> {
  const started = start(['serve', '--data', data, '--listen', '127.0.0.1:0']);
  void started.said(/answers at/).then(
    () => started.child.kill('SIGTERM'),
    () => undefined,
  );
  return started.ended;
}

async function expectRefusal(data: string, sentence: RegExp): Promise<void> {
  const { code, out, err } = await serve(data);
  expect(out).toBe('');
  expect(err).toMatch(sentence);
  // One line: no stack.
  expect(err.trim().split('\n')).toHaveLength(1);
  expect(code).toBe(1);
}

describe('a data folder', () => {
  test('has files of mode 0600 in a folder of mode 0700, whatever the umask', async () => {
    const data = join(newFolder(), 'data');
    const node = [process.execPath, join(import.meta.dirname, '../../bin/muster.js')].join(' ');
    const command = `umask 000; exec ${node} serve --data ${data} --listen 127.0.0.1:0 --demo 2`;
    const server = start([], { command: ['sh', '-c', command] });
    await server.said(/answers at/);
    const modes = readdirSync(data, { recursive: true, withFileTypes: true }).map((entry) => {
      return [entry.name, entry.isDirectory() ? 'folder' : 'file', modeOf(join(entry.parentPath, entry.name))];
    });
    server.child.kill('SIGTERM');
    expect((await server.ended).code).toBe(0);
    expect(modes.map(([name]) => name)).toEqual(
      expect.arrayContaining(['muster.db', 'muster.db-wal', 'muster.db-shm', 'lock', 'lock-owner', 'admin-token']),
    );
    expect(modes.filter(([, kind, mode]) => mode !== (kind === 'folder' ? '700' : '600'))).toEqual([]);
    expect(modeOf(data)).toBe('700');
  });

  test.each([
    [0o755, 'read'],
    [0o750, 'read'],
    [0o770, 'write to'],
    [0o702, 'write to'],
    [0o1777, 'write to'],
  ] as const)('of mode %o is refused: others may %s it', async (mode, may) => {
    const data = usedFolder();
    chmodSync(data, mode);
    await expectRefusal(data, new RegExp(`^Other users .* may ${may} ${data} .*: chmod 700 ${data}\n$`));
  });

  test('that is empty, and that others may only read, is made private', async () => {
    const data = join(newFolder(), 'data');
    mkdirSync(data);
    chmodSync(data, 0o755);
    expect((await serve(data)).code).toBe(0);
    expect(modeOf(data)).toBe('700');
  });

  test('that is empty, and that others may write to, is refused', async () => {
    const data = join(newFolder(), 'data');
    mkdirSync(data);
    chmodSync(data, 0o777);
    await expectRefusal(data, /may write to/);
  });

  test.each(['', '/'])('that is a planted link is refused, written as %j too', async (end) => {
    const folder = newFolder();
    const elsewhere = join(folder, 'elsewhere');
    mkdirSync(elsewhere, { mode: 0o700 });
    symlinkSync(elsewhere, join(folder, 'data'));
    await expectRefusal(join(folder, 'data') + end, /data is a symbolic link: .* --data \S+elsewhere/);
    expect(readdirSync(elsewhere)).toEqual([]);
  });

  test.each(['muster.db', 'muster.db-wal', 'admin-token', 'lock', 'lock-owner', 'anything-else'])(
    'with a planted link in the place of %s is refused, and nothing is written through it',
    async (name) => {
      const data = usedFolder();
      const victim = join(newFolder(), 'victim');
      writeFileSync(victim, 'precious');
      if (existsSync(join(data, name))) renameSync(join(data, name), `${victim}.old`);
      symlinkSync(victim, join(data, name));
      await expectRefusal(data, new RegExp(`${name} is a symbolic link to \\S+victim, .* remove it`));
      expect(readFileSync(victim, 'utf8')).toBe('precious');
    },
  );

  test('with a link that leads nowhere is refused', async () => {
    const data = usedFolder();
    symlinkSync('/nowhere/at/all', join(data, 'anything'));
    await expectRefusal(data, /anything is a symbolic link to nothing/);
  });

  test('with files that an earlier version left readable is made private', async () => {
    const data = usedFolder();
    chmodSync(join(data, 'muster.db'), 0o644);
    expect((await serve(data)).code).toBe(0);
    expect(modeOf(join(data, 'muster.db'))).toBe('600');
  });

  test.skipIf(!isRoot)('of another user, or with a file of theirs, is refused', async () => {
    const data = usedFolder();
    chownSync(join(data, 'admin-token'), SOMEBODY, SOMEBODY);
    await expectRefusal(data, /admin-token belongs to user 65534, .*: chown 0 /);
    chownSync(join(data, 'admin-token'), 0, 0);
    chownSync(data, SOMEBODY, SOMEBODY);
    await expectRefusal(data, /data belongs to user 65534, .*: chown -R 0 /);
  });

  test('has a lost+found that is not ours to assess', async () => {
    const data = usedFolder();
    mkdirSync(join(data, 'lost+found'));
    if (isRoot) chownSync(join(data, 'lost+found'), SOMEBODY, SOMEBODY);
    expect((await serve(data)).code).toBe(0);
  });
});

describe("an agent's state folder", () => {
  const agent = (state: string): Promise<Ended> =>
    run(['agent', '--simulate', '--host', 'c1', '--state', state, '--server', 'http://127.0.0.1:9']);

  test.each([
    ['loose modes', 0o755, false, /may read/],
    ['a planted link', 0o700, true, /is a symbolic link/],
  ] as const)('with %s is refused', async (_, mode, link, sentence) => {
    const folder = newFolder();
    const real = join(folder, 'real');
    mkdirSync(real);
    writeFileSync(join(real, 'agent-credential.json'), '{}');
    chmodSync(real, mode);
    if (link) symlinkSync(real, join(folder, 'state'));
    const { code, err } = await agent(link ? join(folder, 'state') : real);
    expect(err).toMatch(sentence);
    expect(code).toBe(1);
  });
});
