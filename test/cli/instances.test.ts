// Networks and instances on a real server with three simulated hosts: from a network to instances that run, move, fail to be
// placed, and go.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { newFolder, startServer } from './muster.ts';

const server = await startServer(newFolder(), '--demo', '3');
const { muster, json } = server;
const done = { code: 0, signal: null };

interface Shown {
  readonly name: string;
  readonly host?: string;
  readonly ports: readonly {
    readonly id: string;
    readonly mac: string;
    readonly addresses: readonly { ip: string }[];
  }[];
}

/** Where it is, and with what. */
async function whereIs(name: string): Promise<{ host: string | undefined; ips: string[]; macs: string[] }> {
  const { host, ports } = await json<Shown>('instances', 'show', name);
  return { host, ips: ports.flatMap((port) => port.addresses.map(({ ip }) => ip)), macs: ports.map(({ mac }) => mac) };
}

beforeAll(async () => {
  const joins = await json<{ id: string; title: string }[]>('operations', 'list', '--kind', 'host-join');
  for (const { id } of joins) expect(await muster('operations', 'wait', id, '--timeout', '60s')).toMatchObject(done);
  const made: readonly string[][] = [
    ['networks', 'create', 'office'],
    [
      'segments',
      'create',
      'floor',
      '--network',
      'office',
      '--physical-network',
      'datacenter',
      '--segmentation-id',
      '7',
    ],
    ['subnets', 'create', 'floor-v4', '--network', 'office', '--segment', 'floor', '--cidr', '10.7.0.0/28'],
    ['subnets', 'create', 'floor-v6', '--network', 'office', '--segment', 'floor', '--cidr', 'fd07::/64'],
    ['flavors', 'create', 'tiny', '--vcpus', '1', '--memory', '512MiB', '--disk', '1GiB'],
    ['groups', 'create', 'apart', '--policy', 'anti-affinity'],
  ];
  for (const words of made) expect(await muster(...words)).toMatchObject({ ...done, err: '' });
});

describe('networks', () => {
  test('a network with its segment, its subnets and what is left of them', async () => {
    expect((await muster('networks', 'show', 'office')).out).toMatch(
      /Name +office\nProject +default\nBack end +embedded/,
    );
    expect((await muster('segments', 'list', '--network', 'office')).out).toMatch(
      /floor +office +vlan 7 +datacenter\n$/,
    );
    expect((await muster('subnets', 'show', 'floor-v4')).out).toMatch(
      /CIDR +10\.7\.0\.0\/28 \(IPv4\)\nGateway +10\.7\.0\.1\nPools +10\.7\.0\.2 to 10\.7\.0\.14\n/,
    );
    const stock = await muster('segments', 'stock', 'floor');
    expect(stock.out).toMatch(
      /^SEGMENT +VERSION +TOTAL +HELD +CLAIMED +FREE\nfloor +IPv4 +13 +0 +0 +13\nfloor +IPv6 +\d{20} /,
    );
    expect((await muster('hosts', 'segments', 'compute-1')).out).toMatch(/floor +office +datacenter\n/);
    expect((await muster('networks', 'edit', 'office', '--qos-policy', 'gold')).out).toMatch(/QoS policy +gold\n/);
    expect((await muster('networks', 'edit', 'office', '--qos-policy', '')).out).not.toContain('gold');
  });

  test('a port of one’s own: made, changed, found by its address, deleted', async () => {
    const { id } = await json<{ id: string }>(
      'ports',
      'create',
      'vip',
      '--network',
      'office',
      '--fixed-ip',
      '10.7.0.9',
    );
    expect((await muster('ports', 'show', id)).out).toMatch(/Addresses +10\.7\.0\.9 \(subnet floor-v4, by user\)\n/);
    expect((await muster('ports', 'edit', id, '--security-group', 'web')).out).toMatch(/Security groups +web\n/);
    expect(await json('ports', 'list', '--address', '10.7.0.9')).toMatchObject([
      { id, name: 'vip', createdBy: 'user' },
    ]);
    expect((await muster('ports', 'delete', id)).out).toBe(`Port ${id} is deleted.\n`);
  });

  test.each<[string, string[], string]>([
    ['a network that is there', ['networks', 'create', 'office'], 'There is a network "office" already'],
    ['a network in use', ['networks', 'delete', 'office'], 'office'],
    [
      'a subnet outside every segment',
      ['subnets', 'create', 'x', '--network', 'office', '--cidr', '10.8.0.0/24'],
      'segment',
    ],
    ['an address of nobody', ['ports', 'create', '--network', 'office', '--fixed-ip', '192.0.2.1'], '192.0.2.1'],
  ])('%s is refused with 1', async (_why, words, sentence) => {
    const refused = await muster(...words);
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toContain(sentence);
  });
});

describe('instances', () => {
  test('three are built, listed, shown with their ports, and what they use cannot go', async () => {
    const built = await muster(
      'instances',
      'create',
      'web',
      '--flavor',
      'tiny',
      '--network',
      'office',
      '--count',
      '3',
      '--wait',
    );
    expect(built).toMatchObject(done);
    expect(built.out).toMatch(
      /^op-\w+ succeeded: build 3 instances, 3\/3 done\.\n\nNAME +STATE +HOST +ADDRESSES +FAULT\n/,
    );
    for (const name of ['web-1', 'web-2', 'web-3'])
      expect(built.out).toMatch(new RegExp(`${name} +active +\\S+ +10\\.7\\.0\\.\\d+, fd07::`));
    expect(await json('instances', 'list', '--flavor', 'tiny')).toMatchObject([
      { name: 'web-1' },
      { name: 'web-2' },
      { name: 'web-3' },
    ]);
    const { host = '' } = await whereIs('web-1');
    expect(await json('instances', 'list', '--host', host, '--state', 'active')).toContainEqual(
      expect.objectContaining({ name: 'web-1' }),
    );
    expect((await muster('instances', 'show', 'web-1')).out).toMatch(
      /State +active\n[^]*NIC +NETWORK +ADDRESSES[^]*0 +office +10\.7\.0\.\d+, fd07::\w+ +\S+ +\S+, segment floor +muster +- +port-\w+\n$/,
    );
    expect((await muster('segments', 'stock', 'floor')).out).toMatch(/IPv4 +13 +3 +0 +10\n/);
    expect((await muster('hosts', 'tenants', host)).out).toMatch(/instance +web-1 +move it live to /);
    expect(await muster('flavors', 'delete', 'tiny')).toMatchObject({
      code: 1,
      err: expect.stringContaining('is used by 3 instances') as string,
    });
  });

  test('a move, and a time on the shelf, keep ports and addresses', async () => {
    const before = await whereIs('web-1');
    expect(await muster('instances', 'move', 'web-1', '--wait')).toMatchObject(done);
    const moved = await whereIs('web-1');
    expect(moved).toEqual({ ...before, host: moved.host });
    expect(moved.host).not.toBe(before.host);
    expect(await muster('instances', 'move', 'web-1', '--cold', '--host', before.host ?? '', '--wait')).toMatchObject(
      done,
    );
    expect(await whereIs('web-1')).toEqual(before);
    expect(await muster('instances', 'shelve', 'web-1', '--reason', 'quiet night', '--wait')).toMatchObject(done);
    expect(await whereIs('web-1')).toEqual({ ...before, host: undefined });
    expect(await muster('instances', 'move', 'web-1')).toMatchObject({
      code: 1,
      err: expect.stringContaining('only active instances can') as string,
    });
    expect(await muster('instances', 'unshelve', 'web-1', '--wait')).toMatchObject(done);
    expect(await whereIs('web-1')).toMatchObject({ ips: before.ips, macs: before.macs });
  });

  test('a NIC with a fixed address and a tag, and a port of one’s own, in the order in which they are written', async () => {
    const { id } = await json<{ id: string }>('ports', 'create', '--network', 'office', '--fixed-ip', '10.7.0.13');
    const nics = ['--nic', `port=${id}`, '--nic', 'network=office,fixed-ip=10.7.0.12,tag=mgmt'];
    const built = await json<{ instances: string[] }>('instances', 'create', '--flavor', 'tiny', ...nics, '--wait');
    const [name = ''] = built.instances;
    expect(name).toMatch(/^tiny-\w+$/);
    const { ports } = await json<Shown>('instances', 'show', name);
    expect(ports).toMatchObject([
      { id, createdBy: 'user', addresses: [{ ip: '10.7.0.13' }] },
      { createdBy: 'muster', tag: 'mgmt', addresses: [{ ip: '10.7.0.12' }] },
    ]);
    expect(await muster('instances', 'delete', name, '--wait')).toMatchObject(done);
    expect(await json('ports', 'list', '--network', 'office', '--created-by', 'user')).toMatchObject([
      { id, attached: false, addresses: [{ ip: '10.7.0.13' }] },
    ]);
    expect(await muster('ports', 'delete', id)).toMatchObject(done);
  });

  test('what finds no host says why: in the preview, in the refusal, and filter by filter when it is shown', async () => {
    const four = ['--flavor', 'tiny', '--network', 'office', '--group', 'apart', '--count', '4'];
    const preview = await muster('instances', 'preview', 'etcd', ...four);
    expect(preview.code).toBe(1);
    expect(preview.out).toMatch(
      /^3 of 4 would find a host\.\n\nNAME +HOST +POOLS\n(?:etcd-\d +\S+ +segment:floor\n){3}\nOf 3 hosts, filter by filter:\n/,
    );
    expect(preview.out).toMatch(/with a member of group apart already/);
    const refused = await muster('instances', 'create', 'etcd', ...four, '--wait');
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toContain('Only 3 of 4 instances can be placed');
    expect(await muster('instances', 'preview', ...four, '--min-count', '3')).toMatchObject({ code: 0 });

    const lonely = await muster(
      'instances',
      'create',
      'lonely',
      '--flavor',
      'tiny',
      '--network',
      'office',
      '--zone',
      'mars',
      '--wait',
    );
    expect(lonely.code).toBe(4);
    expect(lonely.out).toMatch(/failed: build instance lonely[^]*lonely +error/);
    const shown = await muster('instances', 'show', 'lonely');
    expect(shown.out).toMatch(/State +error\n[^]*Fault +No host fits\./);
    expect(shown.out).toMatch(/FILTER +BEFORE +AFTER +WHY\n[^]* 3 +0 +3 of 3 hosts: not in zone mars\.\n/);
    expect(await muster('instances', 'delete', 'lonely', '--wait')).toMatchObject(done);
  });

  test('a viewer’s preview counts hosts and names none', async () => {
    const file = join(server.data, 'viewer');
    writeFileSync(file, (await muster('token', 'create', 'wallboard', '--role', 'viewer')).out);
    const words = ['instances', 'preview', '--flavor', 'tiny', '--network', 'office', '--token-file', file];
    expect(await json(...words)).toEqual({ count: 1, placed: 1 });
    expect(await muster(...words)).toMatchObject({
      out: '1 of 1 would find a host.\n',
      err: 'Only operators are shown the hosts.\n',
    });
    const refused = await muster('networks', 'create', 'viewers', '--token-file', file);
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toContain(
      'for the roles "operator", "admin"; your token has the role "viewer". Use a token with the right role.\nGive it with --token',
    );
  });

  test('an operator of one site requests instances there, and can follow it', async () => {
    const file = join(server.data, 'north');
    writeFileSync(file, (await muster('token', 'create', 'north', '--role', 'operator', '--site', 'north')).out);
    const args = ['--flavor', 'tiny', '--network', 'office', '--token-file', file];
    const built = await muster('instances', 'create', 'mill', ...args, '--wait');
    expect(built).toMatchObject(done);
    expect(built.out).toMatch(/mill +active +north-1 /);
    expect(await json('instances', 'list', '--token-file', file)).toMatchObject([{ name: 'mill' }]);
    expect(await muster('instances', 'create', 'far', '--site', 'central', ...args)).toMatchObject({
      code: 1,
      err: expect.stringContaining('bound to site "north"') as string,
    });
    expect(await muster('instances', 'delete', 'mill', '--token-file', file, '--wait')).toMatchObject(done);
  });

  test('a quota shows what is used of it, and stops what is too much', async () => {
    expect((await muster('quotas', 'set', 'default', '--instances', '3', '--memory', '1TiB')).out).toMatch(
      /Instances +3\n/,
    );
    expect((await muster('quotas', 'show', 'default')).out).toMatch(
      /Instances +3 of 3\nVcpus +3, no limit\nMemory, MiB +1536 of 1048576\n/,
    );
    const refused = await muster('instances', 'create', 'more', '--flavor', 'tiny', '--network', 'none');
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toContain('muster quotas set default');
    expect((await muster('quotas', 'set', 'default', '--instances', 'none')).out).toMatch(
      /Instances +no limit\nVcpus +no limit\nMemory, MiB +1048576\n/,
    );
    expect((await muster('quotas', 'delete', 'default')).out).toBe('Quota default is deleted.\n');
  });

  test('when a host is gone for certain, its instances are built elsewhere with the same ports', async () => {
    const before = await whereIs('web-2');
    const host = before.host ?? '';
    expect((await muster('instances', 'rebuild', 'web-2')).err).toContain(`muster hosts force-down ${host}`);
    expect(await muster('hosts', 'force-down', host, '--reason', 'on fire')).toMatchObject(done);
    expect(await muster('instances', 'rebuild', 'web-2', '--wait')).toMatchObject(done);
    const after = await whereIs('web-2');
    expect(after).toEqual({ ...before, host: after.host });
    expect(after.host).not.toBe(host);
    expect(await muster('hosts', 'clear-force-down', host)).toMatchObject(done);
  });

  test('several go at once; one that is not there does not keep the others', async () => {
    const deleted = await muster('instances', 'delete', 'web-1', 'nobody', 'web-2', 'web-3', '--wait');
    expect(deleted.code).toBe(1);
    expect(deleted.out.match(/succeeded: delete instance web-\d/g)).toHaveLength(3);
    expect(deleted.err).toContain('There is no instance "nobody"');
    expect(await json('instances', 'list')).toEqual([]);
    expect(await json('ports', 'list', '--network', 'office')).toEqual([]);
    const removed = [
      'subnets delete floor-v4 floor-v6',
      'segments delete floor',
      'networks delete office',
      'groups delete apart',
    ];
    for (const words of [...removed, 'flavors delete tiny'])
      expect(await muster(...words.split(' '))).toMatchObject(done);
  });
});

test('gates: open when every host is of today', async () => {
  expect((await muster('gates')).out).toMatch(
    /^Lowest version +6\nEarly create +open: [^]*A build now +ports are made by the control plane/,
  );
  expect(await json('gates')).toMatchObject({ minimumVersion: 6, bind: { open: true, needs: 3, below: 0 } });
  expect(await json('hosts', 'list', '--agent-version', '3')).toEqual([]);
  expect(await json<unknown[]>('hosts', 'list', '--agent-version', '6')).not.toEqual([]);
});
