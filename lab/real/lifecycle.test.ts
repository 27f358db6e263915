// A lab leaves nothing behind, however it ends.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ovsSuite } from '../../test/ovs/suite.ts';
import { run } from '../command.ts';
import type { LabSummary } from '../lab-summary.ts';
import { labNames } from '../underlay/names.ts';
import { processesOf } from '../underlay/processes.ts';
import { Underlay } from '../underlay/underlay.ts';

const PROGRAM = join(import.meta.dirname, '../run.ts');
const node = (...args: string[]): string[] => [
  process.execPath,
  '--disable-warning=ExperimentalWarning',
  PROGRAM,
  ...args,
];

async function leftOf(id: string): Promise<object> {
  const { prefix, folder } = labNames(id);
  const namespaces = (await readdir('/run/netns')).filter((name) => name.startsWith(prefix));
  // The lab's pairs have these names at their shared ends.
  const links = (await run(['ip', '-o', 'link'])).split('\n').filter((line) => /^\d+: ([ux]\d+|mp\d+)@/.test(line));
  return { namespaces, links, processes: await processesOf(folder, namespaces), folder: existsSync(folder) };
}

const NOTHING = { namespaces: [], links: [], processes: [], folder: false };

interface Started {
  readonly child: ChildProcess;
  readonly lab: LabSummary;
}

/** The program as a person starts it. */
async function startProgram(): Promise<Started> {
  const [program = '', ...args] = node('--no-muster', '--hosts', '2', '--output', 'json');
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { child, lab: JSON.parse(line.toString('utf8')) as LabSummary };
}

ovsSuite('lifecycle', () => {
  test('hosts-have-what-they-should-and-closing-leaves-nothing', async () => {
    const underlay = await Underlay.start({ hosts: 2 });
    onTestFinished(() => underlay.close());
    const { id, folder } = underlay.names;
    expect(await processesOf(folder, [])).toHaveLength(4);
    expect(await underlay.host(1).vsctl('list-br')).toBe('br-phy\n');
    expect(await underlay.host(2).exec('ip', '-br', '-4', 'addr', 'show', 'br-phy')).toMatch(/172\.16\.0\.2\/16/);
    for (const link of ['eth0', 'ext0']) {
      expect(await underlay.host(1).exec('ethtool', '-k', link)).toMatch(
        /tx-checksumming: off[^]*tcp-segmentation-offload: off/,
      );
    }
    const [third] = await underlay.addHosts(1);
    expect(third?.names.tunnelAddress).toBe('172.16.0.3');
    await underlay.close();
    expect(await leftOf(id)).toEqual(NOTHING);
  });

  test('a-switch-that-was-killed-comes-back-with-its-tunnel-address', async () => {
    const underlay = await Underlay.start({ hosts: 1 });
    onTestFinished(() => underlay.close());
    const host = underlay.host(1);
    const before = await host.pid('ovs-vswitchd');
    await host.kill('ovs-vswitchd');
    await expect(host.pid('ovs-vswitchd')).rejects.toThrow('h1 has no ovs-vswitchd now');
    await host.start('ovs-vswitchd');
    expect(await host.pid('ovs-vswitchd')).not.toBe(before);
    expect(await host.exec('ip', '-br', '-4', 'addr', 'show', 'br-phy')).toMatch(/172\.16\.0\.1\/16/);
    await host.kill('ovsdb-server', 'SIGTERM');
    await host.start('ovsdb-server');
    expect(await host.vsctl('list-br')).toBe('br-phy\n');
  });

  test('a-switch-keeps-the-way-to-its-tunnels-when-it-reads-the-routes-of-the-kernel-again, also-after-a-restart', async () => {
    const underlay = await Underlay.start({ hosts: 1 });
    onTestFinished(() => underlay.close());
    const host = underlay.host(1);
    const tunnelRoutes = async (): Promise<readonly string[]> =>
      (await host.appctl('ovs/route/show')).split('\n').filter((line) => line.includes('dev br-phy'));
    const own = ['User: 172.16.0.0/16 dev br-phy SRC 172.16.0.1'];
    expect(await tunnelRoutes()).toEqual(own);
    // Whenever a link changes it forgets all that it calls cached.
    await host.exec('ip', 'link', 'add', 'comes', 'type', 'veth', 'peer', 'name', 'goes');
    expect(await tunnelRoutes()).toEqual(own);
    await host.kill('ovs-vswitchd');
    await host.start('ovs-vswitchd');
    expect(await tunnelRoutes()).toEqual(own);
  });

  test.each(['SIGINT', 'SIGTERM'] as const)('%s-ends-the-program-and-takes-its-lab-away', async (signal) => {
    const { child, lab } = await startProgram();
    expect(lab.instances).toHaveLength(2);
    child.kill(signal);
    expect(await once(child, 'exit')).toEqual([0, null]);
    expect(await leftOf(lab.id)).toEqual(NOTHING);
  });

  test('what-a-killed-program-left-is-removed-by-clean', async () => {
    const { child, lab } = await startProgram();
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await leftOf(lab.id)).not.toEqual(NOTHING);
    expect(await run(node('--clean'))).toContain(lab.id);
    expect(await leftOf(lab.id)).toEqual(NOTHING);
  });

  test('a-lab-that-lives-is-not-cleared-away-and-a-dead-one-is-by-the-next-that-starts', async () => {
    const alive = await Underlay.start({ hosts: 1 });
    onTestFinished(() => alive.close());
    const { child, lab } = await startProgram();
    child.kill('SIGKILL');
    await once(child, 'exit');
    const next = await Underlay.start({ hosts: 1 });
    onTestFinished(() => next.close());
    expect(await leftOf(lab.id)).toEqual(NOTHING);
    expect(await alive.host(1).vsctl('list-br')).toBe('br-phy\n');
  });

  test('a-lab-that-is-stopped-while-it-comes-up-leaves-nothing', async () => {
    const stop = new AbortController();
    const said: string[] = [];
    const say = (line: string): void => {
      said.push(line);
      if (line.includes('is up')) stop.abort(new Error('stopped'));
    };
    await expect(Underlay.start({ hosts: 6, say, signal: stop.signal })).rejects.toThrow('stopped');
    expect(said.filter((line) => line.includes('is up')).length).toBeLessThan(6);
    const [, id = ''] = /lab (\w{4}) begins/.exec(said.join('\n')) ?? [];
    expect(id).not.toBe('');
    expect(await leftOf(id)).toEqual(NOTHING);
  });
});
