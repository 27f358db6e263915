// Routers, floating addresses and transport zones from the command line, against one real server without hosts of its own.
import { describe, expect, test } from 'vitest';
import { newFolder, startServer } from './muster.ts';

const server = await startServer(newFolder());
const { muster, json } = server;
const done = { code: 0, signal: null };

/** Runs a line that is to succeed without a word of complaint, and answers what it said. */
async function said(line: string): Promise<string> {
  const words = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
  const ended = await muster(...words);
  expect(ended).toMatchObject({ ...done, err: '' });
  return ended.out.replaceAll(/ +/g, ' ');
}

async function refused(line: string): Promise<string> {
  const ended = await muster(...line.split(' '));
  expect(ended).toMatchObject({ code: 1, out: '' });
  return ended.err.trim();
}

describe('the way out', () => {
  test('needs networks on both sides; a subnet says whether DHCP is answered in it', async () => {
    await said('networks create uplink --external');
    await said('subnets create uplink-v4 --network uplink --cidr 203.0.113.0/29');
    await said('networks create lan');
    await said('subnets create lan-v4 --network lan --cidr 10.0.0.0/24 --dhcp');
    await said('subnets create dmz-v4 --network lan --cidr 10.0.1.0/24');
    expect(await said('subnets list --dhcp true')).toBe(
      'NAME NETWORK SEGMENT CIDR GATEWAY POOLS DHCP\nlan-v4 lan - 10.0.0.0/24 10.0.0.1 10.0.0.2 to 10.0.0.254 on\n',
    );
    expect(await said('subnets edit lan-v4 --no-dhcp')).toContain('DHCP off\n');
    expect(await said('subnets edit lan-v4 --dhcp')).toContain('DHCP answered by a host with ports in it\n');
  });

  test('a router: create, list, show, edit', async () => {
    expect(await muster('routers', 'list')).toMatchObject({
      ...done,
      err: 'No routers. Make one with: muster routers create <name>\n',
    });
    expect(await said('routers create edge --subnet lan-v4 --external-network uplink')).toBe(
      'Router edge is created. It leads to uplink from 203.0.113.2.\n',
    );
    expect(await said('routers list --subnet lan-v4')).toBe(
      'NAME PROJECT SUBNETS EXTERNAL ADDRESS\nedge default lan-v4 uplink 203.0.113.2\n',
    );
    expect(await said('routers edit edge --add-subnet dmz-v4 --nat-address 203.0.113.6')).toMatch(
      /^Name edge\nProject default\nSubnets lan-v4, dmz-v4\nExternal uplink\nAddress 203\.0\.113\.6 \(port port-/,
    );
    expect(await said('ports list --network uplink')).toMatch(/203\.0\.113\.6 .* muster, for router edge\n$/);
    expect(await said('routers edit edge --remove-subnet dmz-v4 --external-network ""')).toMatch(
      /Subnets lan-v4\nExternal it does not lead outside\n/,
    );
    expect(await said('routers edit edge --external-network uplink')).toContain('Address 203.0.113.2 (port ');
    expect(await said('routers create core')).toBe('Router core is created.\n');
    expect(await refused('routers edit core --add-subnet lan-v4')).toBe(
      'Subnet "lan-v4" is behind router "edge" already. Remove it from there first: muster routers edit edge --remove-subnet lan-v4',
    );
    expect(await muster('routers', 'edit', 'core')).toMatchObject({
      code: 2,
      err: 'Say what to change, with --add-subnet, --remove-subnet, --external-network, --nat-address.\n',
    });
    expect(await said('routers delete core')).toBe('Router core is deleted.\n');
  });

  test('a floating address: create, associate, list, disassociate, delete', async () => {
    const { id: port } = await json<{ id: string }>('ports', 'create', '--network', 'lan', '--fixed-ip', '10.0.0.9');
    const made = await said('floating-addresses create --network uplink');
    expect(made).toMatch(/^Floating address floating-[0-9a-z]{20} is created: 203\.0\.113\.3 leads to nothing\.\n$/);
    const [floating = ''] = /floating-[0-9a-z]{20}/.exec(made) ?? [];
    expect(await said(`floating-addresses associate ${floating} --port ${port}`)).toBe(
      `203.0.113.3 leads to 10.0.0.9 of port ${port}, through router edge.\n`,
    );
    expect(await said('floating-addresses list --associated true')).toBe(
      `ID ADDRESS NETWORK PROJECT LEADS TO PORT ROUTER\n${floating} 203.0.113.3 uplink default 10.0.0.9 ${port} edge\n`,
    );
    expect(await said(`floating-addresses show ${floating}`)).toContain(`Leads to 10.0.0.9 of port ${port}, through`);
    expect(await refused(`floating-addresses delete ${floating}`)).toContain('Disassociate it first');
    expect(await refused('routers delete edge')).toContain('Disassociate them first');
    expect(await said(`floating-addresses disassociate ${floating}`)).toBe('203.0.113.3 leads to nothing.\n');
    expect(await said(`floating-addresses delete ${floating}`)).toBe(`Floating address ${floating} is deleted.\n`);
    const whole = ['--address', '203.0.113.5', '--port', port, '--port-ip', '10.0.0.9'];
    expect(await json('floating-addresses', 'create', '--network', 'uplink', ...whole)).toMatchObject({
      outside: { ip: '203.0.113.5' },
      inside: { port, ip: '10.0.0.9', router: 'edge' },
    });
  });
});

describe('transport zones', () => {
  test('there is one from the start; others are made, edited and deleted', async () => {
    expect(await said('transport-zones list')).toBe('NAME MESH BY\ndefault needed first start\n');
    expect(await said('transport-zones create large --mesh needed')).toBe(
      'Transport zone large is created: each host has tunnels with those that it shares a network or a router with.\n',
    );
    expect(await said('transport-zones edit large --mesh full')).toContain('Mesh full: each host has tunnels with all');
    expect(await said('transport-zones show large')).toContain('Name large\n');
    expect(await said('transport-zones delete large')).toBe('Transport zone large is deleted.\n');
    expect(await refused('transport-zones create default')).toBe(
      'There is a transport zone "default" already. Choose another name.',
    );
    expect(await muster('transport-zones', 'edit', 'default')).toMatchObject({ code: 2 });
  });
});

test('completion knows the commands and their words', async () => {
  const script = await said('completion bash');
  for (const word of ['routers', 'floating-addresses', 'transport-zones']) expect(script).toContain(`${word}/create)`);
  expect(script).toContain('--mesh) COMPREPLY=($(compgen -W "full needed"');
});
