// The daemons that other tests stand on: they start, answer, come back after a crash, and leave nothing behind.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { start } from './ovs-daemons.ts';
import { ovsSuite } from './suite.ts';

const run = promisify(execFile);

ovsSuite('ovs-daemons', () => {
  test('a-switch-forwards-what-a-dummy-port-is-given', async () => {
    const ovs = await start();
    onTestFinished(() => ovs.close());
    await ovs.addBridge('br-int');
    await ovs.addDummyPort('br-int', 'p1', 1);
    await ovs.addDummyPort('br-int', 'p2', 2);
    await ovs.ofctl('add-flow', 'br-int', 'in_port=1,actions=output:2');
    await ovs.appctl('netdev-dummy/receive', 'p1', 'eth(src=02:00:00:00:00:01,dst=02:00:00:00:00:02),eth_type(0x1234)');
    await ovs.appctl('revalidator/wait');
    expect(await ovs.ofctl('dump-flows', 'br-int')).toMatch(/n_packets=1,.*actions=output:2/);
    expect(await ovs.ofctl('show', ovs.bridgeMgmt('br-int'))).toMatch(/1\(p1\)/);
  });

  test('what-was-killed-starts-again', async () => {
    const ovs = await start();
    onTestFinished(() => ovs.close());
    await ovs.addBridge('br-int');
    await ovs.killDatabase();
    await ovs.startDatabase();
    await ovs.killSwitch();
    await ovs.startSwitch();
    expect(await ovs.vsctl('list-br')).toBe('br-int\n');
    expect(await ovs.ofctl('show', 'br-int')).toMatch(/OFPST_PORT_DESC/);
  });

  test('nothing-is-left-behind', async () => {
    const ovs = await start();
    await ovs.close();
    expect(existsSync(ovs.folder)).toBe(false);
    expect((await run('ip', ['netns', 'list'])).stdout).not.toContain(ovs.namespace);
  });
});
