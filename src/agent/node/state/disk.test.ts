// What an agent keeps: the disks by one contract, and an agent whose disk fails it.
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { TestHost } from '../agent-fixture.ts';
import { FileDisk } from '../../../link/runtime.ts';
import { AgentStateStore } from './agent-state-store.ts';
import { StateMemoryDisk } from './memory-disk.ts';
import { TestControlPlane } from '../../server/control-plane-fixture.ts';
import type { Disk, FileName } from '../ports.ts';
import { DiskFailed } from '../../../link/index.ts';
import { VirtualClock } from '../../../journal/virtual-clock-fixture.ts';

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'muster-agent-'));
  onTestFinished(() => rm(made, { recursive: true, force: true }));
  return made;
}

describe.each<[string, () => Promise<Disk>]>([
  ['memory', () => Promise.resolve(new StateMemoryDisk())],
  ['file', async () => new FileDisk<FileName>(join(await folder(), 'new', 'folder'), 'agent')],
])('the %s disk', (_name, make) => {
  test('reads-what-was-written-last-and-nothing-before', async () => {
    const disk = await make();
    expect(await disk.read('view')).toBeUndefined();
    await disk.write('view', 'one');
    await disk.write('view', 'two, ü');
    await disk.write('identity', 'me');
    expect([await disk.read('view'), await disk.read('identity')]).toEqual(['two, ü', 'me']);
    expect(await disk.read('answers')).toBeUndefined();
  });

  test('keeps-a-copy-when-it-is-told-so', async () => {
    const disk = await make();
    await disk.write('identity', 'me', { keepsCopy: true });
    await disk.write('view', 'one');
    expect([await disk.read('identity'), await disk.readCopy?.('identity')]).toEqual(['me', 'me']);
    expect(await disk.readCopy?.('view')).toBeUndefined();
  });
});

describe('the file disk', () => {
  test('is-readable-by-its-owner-alone-and-leaves-nothing-beside', async () => {
    const path = await folder();
    await new FileDisk<FileName>(path, 'agent').write('identity', 'secret');
    const [name, ...more] = await readdir(path);
    expect(more).toEqual([]);
    const { mode } = await stat(join(path, name!));
    expect(mode & 0o777).toBe(0o600);
  });

  test('says-that-it-failed-and-keeps-what-there-was', async () => {
    const path = await folder();
    await writeFile(join(path, 'a-file'), '');
    const disk = new FileDisk<FileName>(join(path, 'a-file', 'below'), 'agent');
    await expect(disk.write('view', 'x')).rejects.toThrow(DiskFailed);
    await expect(disk.read('view')).rejects.toThrow(DiskFailed);
  });

  test('says-which-file-it-cannot-read', async () => {
    const path = await folder();
    await mkdir(join(path, 'agent-view.json'));
    await expect(new FileDisk<FileName>(path, 'agent').read('view')).rejects.toThrow(
      /cannot read view in its data folder: EISDIR/,
    );
  });
});

describe('a file that cannot be read back', () => {
  test.each(['', '{', '[]', '{"token":1}'])('is-ignored-and-said: %s', async (text) => {
    const disk = new StateMemoryDisk();
    await disk.write('view', text);
    await disk.write('identity', '{"current":{}}');
    const errors: string[] = [];
    const memory = new AgentStateStore(disk, {
      info: () => undefined,
      warn: () => undefined,
      error: (_facts, message) => errors.push(message),
    });
    const fresh = { identity: {}, isRestored: false };
    expect([await memory.readView(), await memory.readIdentity()]).toEqual([undefined, fresh]);
    expect(errors).toHaveLength(2);
    expect(memory.problems).toEqual(errors);
  });
});

/** Full for as long as `full` is set. */
class FullDisk extends StateMemoryDisk {
  full = false;
  override write(...args: Parameters<StateMemoryDisk['write']>): Promise<void> {
    return this.full ? Promise.reject(new DiskFailed('no space left on device')) : super.write(...args);
  }
}

describe('an agent with a full disk', () => {
  test('acts-on-nothing-that-it-could-not-keep-and-says-so', async () => {
    const clock = new VirtualClock();
    const plane = new TestControlPlane(clock);
    await plane.start('s1');
    await clock.until('there is a lease holder', () => plane.hasLeader);
    await plane.register('c1');
    const token = await plane.joinToken('c1');
    const rack = new TestHost(plane, { joinToken: () => Promise.resolve(token) });
    const disk = new FullDisk();
    disk.full = true;
    const agent = rack.start({ disk });
    await clock.until('it cannot join', () => agent.status().refusal?.code === 'disk-failed');
    expect(plane.host('c1')?.credential).toBeUndefined();
    disk.full = false;
    await clock.until('it is active', () => plane.host('c1')?.state === 'active');
    await clock.until('it has converged', () => agent.status().applied === agent.status().digest);
    disk.full = true;
    const { applies } = rack.driver;
    await plane.edit('c1', { zone: 'other' });
    await clock.until('it is said', () => plane.leader.gateway.reports.get('c1')?.report?.problems.length === 1);
    expect(plane.leader.gateway.reports.get('c1')?.report?.problems).toEqual(['no space left on device']);
    expect(rack.driver.applies).toBe(applies);
    disk.full = false;
    await clock.until('it follows', () => rack.driver.applies > applies);
    await rack.stop();
    await plane.close();
    expect(plane.violations).toEqual([]);
  });
});
