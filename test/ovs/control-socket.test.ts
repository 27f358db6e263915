// The control socket of ovs-vswitchd as Debian names it, after the daemon's process: another one each time that it is started.
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { SwitchNotRunning, openSwitch } from '../../src/main/ovs-node.ts';
import { start, type OvsDaemons } from './ovs-daemons.ts';
import { ovsSuite } from './suite.ts';

ovsSuite('control-socket', () => {
  let ovs: OvsDaemons;
  beforeAll(async () => {
    ovs = await start();
  });
  afterAll(() => ovs?.close());

  const pidFile = (): string => join(ovs.folder, 'ovs-vswitchd.pid');
  const open = (): ReturnType<typeof openSwitch> =>
    openSwitch({ database: ovs.db, bridge: 'br-int', datapath: 'netdev' });

  async function nameAfter(pid: number): Promise<void> {
    await rename(join(ovs.folder, 'vs.ctl'), join(ovs.folder, `ovs-vswitchd.${pid}.ctl`));
    await writeFile(pidFile(), `${pid}\n`);
  }

  test('without-a-daemon-that-is-said-at-once', () => {
    expect(open).toThrow(SwitchNotRunning);
    expect(open).toThrow(
      `There is no ${pidFile()}: is ovs-vswitchd running? If it is, name its socket with --ovs-control.`,
    );
  });

  test('a-daemon-that-is-started-again-is-found-by-its-new-name', async () => {
    await nameAfter(101);
    const { control, close } = opened();
    onTestFinished(close);
    expect(await control.command('version')).toContain('(Open vSwitch)');
    await ovs.killSwitch();
    await rm(pidFile());
    await ovs.startSwitch();
    await nameAfter(102);
    await expect.poll(() => control.command('version').catch(String), { timeout: 30_000 }).toContain('(Open vSwitch)');
  });

  function opened(): { readonly control: ReturnType<typeof open>['control']; close(): Promise<void> } {
    const switchOf = open();
    return { control: switchOf.control, close: () => switchOf.close() };
  }
});
