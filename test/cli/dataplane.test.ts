// What should be on the switches of a real server's simulated hosts, as an operator reads it.
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { newFolder, startServer } from './muster.ts';

const { muster, json } = await startServer(newFolder(), '--demo', '3');
const done = { code: 0, signal: null };

interface Shown {
  readonly count: number;
  readonly flows: readonly {
    readonly reason: string;
    readonly owner: { readonly kind: string; readonly id: string };
  }[];
  readonly tunnels: readonly { readonly peer: string }[];
}

let designated = '';
let standby = '';

beforeAll(async () => {
  const joins = await json<{ id: string }[]>('operations', 'list', '--kind', 'host-join');
  for (const { id } of joins) expect(await muster('operations', 'wait', id, '--timeout', '60s')).toMatchObject(done);
  const made: readonly string[] = [
    'networks create office',
    'subnets create floor --network office --cidr 10.7.0.0/24 --dhcp',
    'networks create internet --external',
    'subnets create uplink --network internet --cidr 203.0.113.0/24 --gateway 203.0.113.1',
    'flavors create tiny --vcpus 1 --memory 512MiB --disk 1GiB',
    'groups create apart --policy anti-affinity',
    'instances create web --flavor tiny --network office --count 3 --group apart --wait',
    'routers create branch --subnet floor --external-network internet',
  ];
  for (const words of made) expect(await muster(...words.split(' '))).toMatchObject(done);
  await vi.waitFor(
    async () => {
      const service = await json<{ designated?: { host: string }; standby?: string }>('services', 'show', 'nat:branch');
      designated = service.designated?.host ?? '';
      standby = service.standby ?? '';
      expect([designated, standby]).not.toContain('');
    },
    { timeout: 30_000, interval: 200 },
  );
});

describe('muster dataplane show', () => {
  test('shows-table-by-table-what-should-be-there-and-why', async () => {
    const { code, out, err } = await muster('dataplane', 'show', designated);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(
      /^Table 0 classify\n {2}100 {2}in_port="mp\w+",dl_src=\S+ -> .* {2}# port \S+: Assigns what this port sends/,
    );
    expect(out).toMatch(/\n\nTable 30 outbound\n/);
    expect(out).toMatch(/^ {4}0 {2}everything -> drop {2}# host \S+: Drops packets that no other flow matches\.$/m);
    expect(out).toContain('# service nat:branch: Translates outgoing packets.');
    expect(out).toContain('set_field:next-hop(203.0.113.1)->eth_dst');
    expect(out).toMatch(/\n\nTunnels\n {2}\S+ at \S+\n/);
  });

  test('on-another-host-the-service-leads-to-the-designated-one', async () => {
    const { tunnels } = await json<Shown>('dataplane', 'show', designated);
    const other = tunnels.find(({ peer }) => peer !== standby)?.peer ?? '';
    const { out } = await muster('dataplane', 'show', other, '--owner', 'nat:branch');
    expect(out).toContain('# service nat:branch: Sends outgoing packets to the host that translates them.');
    expect(out).not.toContain('translated here');
    expect(out).toMatch(
      /\n\nGroups\n {2}\d+ fast-failover \[watch_port:.*\] \[watch_port:.*\] {2}# service nat:branch\n$/,
    );
  });

  test('on-the-standby-it-leads-there-too, and-is-translated-here-should-the-designated-one-be-lost', async () => {
    const { out } = await muster('dataplane', 'show', standby, '--owner', 'nat:branch');
    expect(out).toContain('# service nat:branch: Sends outgoing packets to the host that translates them.');
    expect(out).toContain('# service nat:branch: Translates outgoing packets.');
    expect(out).toMatch(
      /\n\nGroups\n {2}\d+ fast-failover \[watch_port:.*\] \[watch_port:.*\] {2}# service nat:branch\n$/,
    );
  });

  test('narrows-by-owner-table-and-text', async () => {
    const { flows } = await json<Shown>('dataplane', 'show', designated, '--owner', 'nat:branch', '--table', 'snat');
    expect(flows).toMatchObject([{ reason: 'nat-egress', owner: { kind: 'service', id: 'nat:branch' } }]);
    const nothing = await muster('dataplane', 'show', designated, '--text', 'nobody-says-this');
    expect(nothing).toMatchObject({ code: 0, err: `No such flow should be on the switch of ${designated}.\n` });
    const some = await muster('dataplane', 'show', designated, '--limit', '2');
    expect(some.err).toMatch(/^These are the first 2 of \d+ flows; --limit shows more\.\n$/);
  });

  test('says-what-is-wrong-with-the-request', async () => {
    expect(await muster('dataplane', 'show', 'nobody')).toMatchObject({ code: 1, out: '' });
    const { code, err } = await muster('dataplane', 'show', designated, '--table', 'nowhere');
    expect(code).toBe(1);
    expect(err).toContain('table');
  });
});
