// Hosts out of service and back, from the command line, on a server with simulated hosts.
import { describe, expect, test } from 'vitest';
import { newFolder, signalGroup, startServer } from './muster.ts';

const server = await startServer(newFolder(), '--demo', '6');
const { muster, json } = server;

const NAMES = ['compute-1', 'compute-2', 'compute-3', 'compute-4'];

interface Host {
  readonly name: string;
  readonly state: string;
}

const stateOf = async (name: string): Promise<string> => (await json<Host>('hosts', 'show', name)).state;

async function inService(): Promise<void> {
  for (let left = 100; left > 0; left -= 1) {
    const hosts = await json<Host[]>('hosts', 'list', '--state', 'active');
    if (hosts.length === 6) return;
  }
  throw new Error('the simulated hosts do not come in');
}
await inService();
expect(
  await muster('instances', 'create', 'web', '--flavor', 'small', '--network', 'lan', '--count', '6', '--wait'),
).toMatchObject({ code: 0 });

describe('muster scale-in', () => {
  test('preview shows what would become of everything, and how to start exactly that', async () => {
    const { code, out, err } = await muster('scale-in', 'preview', ...NAMES);
    expect(code).toBe(0);
    expect(out).toMatch(/^HOST +KIND +NAME +WOULD\n/);
    expect(out).toMatch(/compute-\d +instance +web-\d +move live to north-\d\n/);
    expect(out).toMatch(/\nTAKES OVER +DESIGNATIONS +INSTANCES/);
    expect(out).toMatch(
      /\nON OTHERS, OF +TUNNELS GO +FLOWS GO +GROUPS TURNED +SERVICES\ncompute-\d +[1-9]\d* +[1-9]\d* +\d+ +\d+\n/,
    );
    expect(out).toMatch(/\n\d instances?: moved live, with a short interruption\.\n/);
    expect(out).toMatch(/\nIt should take about \d+s: .*\d instances of \d+ s each \(assumed\), 32 at once/);
    const [, plan = ''] = /\nPlan ([0-9a-f]{64})\n$/.exec(out) ?? [];
    expect(err).toBe(`Start exactly this with: muster scale-in start ${NAMES.join(' ')} --plan ${plan}\n`);
    expect(await json('scale-in', 'preview', ...NAMES.toReversed())).toMatchObject({ plan });
  });

  test('a plan of other hosts, an unknown name: no host is marked', async () => {
    const { plan } = await json<{ plan: string }>('scale-in', 'preview', 'compute-1');
    const other = await muster('scale-in', 'start', 'compute-1', 'compute-2', '--plan', plan);
    expect(other).toMatchObject({ code: 1, out: '' });
    expect(other.err).toMatch(/^The plan is another one now: which hosts leave/);
    const unknown = await muster('scale-in', 'start', 'compute-1', 'nope');
    expect(unknown).toMatchObject({ code: 1, out: '' });
    expect(unknown.err).toContain('\n  nope: There is no host "nope".');
    expect(await stateOf('compute-1')).toBe('active');
  });

  test('start with --wait reports on every host until all are empty; again it is unchanged', async () => {
    const { code, out, err } = await muster('scale-in', 'start', ...NAMES, '--wait', '--reason', 'rack 4');
    expect({ code, out }).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^op-\w+ succeeded: scale in 4 hosts, 4\/4 done\.\n$/) as string,
    });
    for (const name of NAMES) {
      expect(err).toContain(`${name} leaves service.\n`);
      expect(err).toContain(`\n  ${name} drained, nothing left\n`);
    }
    expect(err).toContain(`Remove them with: muster scale-in end ${NAMES.join(' ')} --disconnect\n`);
    const again = await muster('scale-in', 'start', 'compute-1');
    expect(again).toMatchObject({ code: 0, out: 'compute-1 leaves service already.\n' });
    const status = await muster('scale-in', 'status', 'compute-1');
    expect(status.out).toMatch(/^HOST +STATE[^]*\ncompute-1 +drained +up +nothing +0 +\S+.* admin +\(rack 4\)\n$/);
    expect((await json<{ hosts: object[] }>('scale-in', 'status')).hosts).toHaveLength(4);
  });

  test('a host is found by any of its ids, wherever the command line takes one', async () => {
    const { switch: its } = await json<{ switch: { datapathId: string } }>('hosts', 'show', 'compute-1');
    const id = `0x${its.datapathId.toUpperCase()}`;
    const status = await json<{ hosts: { host: string }[] }>('scale-in', 'status', id);
    expect(status.hosts.map(({ host }) => host)).toEqual(['compute-1']);
    expect(await muster('scale-in', 'status', 'nope')).toMatchObject({
      code: 1,
      err: expect.stringContaining('There is no host "nope"') as string,
    });
    for (const list of [
      ['instances', 'list', '--host'],
      ['services', 'list', '--host'],
      ['ports', 'list', '--host'],
    ])
      expect(await json(...list, id)).toEqual(await json(...list, 'compute-1'));
    const moved = await muster('services', 'move', 'dhcp:nope', '--host', id);
    expect(moved.err).not.toContain(id);
  });

  test('end of connected, active and unknown hosts: each with its own reason', async () => {
    const { code, out, err } = await muster('scale-in', 'end', 'compute-1', 'north-1', 'nope');
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toContain('compute-1 is blocked:\n    Host compute-1 is still connected.');
    expect(err).toMatch(/\n {2}north-1: \S/);
    expect(err).toContain('\n  nope: There is no host "nope".');
    expect(await stateOf('compute-1')).toBe('drained');
  });

  test('Ctrl-C leaves the operation running and says how to follow it', async () => {
    // No host is left for what lives on these two: they wait.
    const started = server.startCommand('scale-in', 'start', 'north-1', 'north-2', '--wait');
    await started.said(/north-\d draining, .*: \S/);
    signalGroup(started.child, 'SIGINT');
    const { code, err } = await started.ended;
    expect(code).toBe(130);
    expect(err).toMatch(/op-\w+ continues without this command\. Show it with: muster scale-in status\./);
    expect(await stateOf('north-2')).toBe('draining');
    const late = await muster('scale-in', 'start', 'north-1', 'north-2', '--wait', '--timeout', '300ms');
    expect(late).toMatchObject({ code: 5, out: '' });
    expect(late.err).toContain('The start takes longer: op-');
  });

  test('programs get the answer as it came', async () => {
    const { code, out } = await muster('scale-in', 'recover', 'compute-4', 'nope', '--output', 'json');
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({
      hosts: [
        { host: 'compute-4', result: 'accepted' },
        { host: 'nope', result: 'unknown', reason: { code: 'unknown-host' } },
      ],
    });
  });

  test('end --disconnect removes an empty host, recover brings one back, scale-out takes the removed one in again', async () => {
    const { code, out, err } = await muster(
      'scale-in',
      'end',
      'compute-1',
      '--disconnect',
      '--wait',
      '--timeout',
      '1m',
    );
    expect({ code, err }).toMatchObject({ code: 0 });
    expect(out).toMatch(/^op-\w+ succeeded: remove host compute-1, 1\/1 done\.\n$/);
    expect(await stateOf('compute-1')).toBe('removed');
    expect((await json<Host[]>('hosts', 'list')).map(({ name }) => name)).not.toContain('compute-1');
    expect((await json<Host[]>('hosts', 'list', '--all')).map(({ name }) => name)).toContain('compute-1');
    expect(await muster('scale-in', 'recover', 'compute-2', '--wait', '--timeout', '1m')).toMatchObject({ code: 0 });
    expect(await stateOf('compute-2')).toBe('active');
    expect((await muster('scale-in', 'start', 'compute-1')).err).toMatch(/compute-1: \S/);
    const again = await muster('scale-out', 'compute-1', '--rebalance', '--vcpus', '8', '--memory', '8GiB');
    expect(again).toMatchObject({ code: 0, out: expect.stringMatching(/^op-\w+: one host joins\.\n$/) as string });
    expect(await stateOf('compute-1')).not.toBe('removed');
    // Its machine was stopped when it was removed, and is started again.
    const [operation = ''] = again.out.split(':');
    expect(await muster('operations', 'wait', operation, '--timeout', '1m')).toMatchObject({ code: 0 });
    expect(await stateOf('compute-1')).toBe('active');
  });
});
