// Muster in the lab: a real server and real agents on real switches, which can be killed and started again by name.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ovsSuite } from '../../test/ovs/suite.ts';
import { Muster } from '../serve/muster.ts';
import { processesOf } from '../underlay/processes.ts';
import { Underlay } from '../underlay/underlay.ts';

ovsSuite('muster', () => {
  let underlay: Underlay;
  let muster: Muster;

  beforeAll(async () => {
    underlay = await Underlay.start({ hosts: 2 });
    muster = await Muster.start(underlay);
  });

  afterAll(async () => {
    await underlay?.close();
  });

  test('agents-make-the-bridges-of-their-hosts', async () => {
    for (const host of underlay.hosts) expect(await host.vsctl('list-ports', 'br-int')).toMatch(/^ext0$/m);
  });

  test('the-command-line-finds-the-server', async () => {
    expect(await muster.muster('hosts', 'list')).toMatch(/h2 .* active .* up/);
  });

  test('what-is-killed-can-be-started-again', async () => {
    await muster.kill('server');
    await muster.kill({ host: 2, part: 'agent' });
    await muster.kill({ host: 1, part: 'ovs-vswitchd' }, 'SIGTERM');
    await muster.start({ host: 1, part: 'ovs-vswitchd' });
    await muster.start('server');
    await muster.start({ host: 2, part: 'agent' });
    await muster.untilUp(2);
  });

  test('a-host-can-be-added', async () => {
    await muster.join(await underlay.addHosts(1));
    expect(await muster.client.get('/hosts/h3')).toMatchObject({ state: 'active', tunnelAddress: '172.16.0.3' });
  });

  test('nothing-is-left-of-it', async () => {
    await muster.close();
    await underlay.close();
    expect(await processesOf(underlay.names.folder, [])).toEqual([]);
  });
});
