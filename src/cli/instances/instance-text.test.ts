import { describe, expect, test } from 'vitest';
import { gateFacts } from './gates.ts';
import { INSTANCES, instanceTables } from './instance-text.ts';
import { painter } from '../output/paint.ts';
import { renderFacts, renderTable } from '../output/table.ts';
import type { Gates, Instance, Port } from '../client/representations.ts';

const plain = painter(false);
const NOW = 600_000;
const CHANGED = { revision: 9, changedBy: 'ann', changedAtMs: 0 };

const instance = (more: Partial<Instance> = {}): Instance => ({
  id: 'web-1',
  ...CHANGED,
  name: 'web-1',
  project: 'default',
  flavor: 'small',
  amounts: { vcpus: 2, memoryMiB: 4096, diskGiB: 20 },
  place: {},
  state: 'active',
  host: 'c1',
  path: { create: 'conductor', bind: 'conductor' },
  attempts: [{ nth: 1, host: 'c1', site: 'central', pools: ['segment:rack-a'], atMs: 0 }],
  attemptsMax: 3,
  nics: [],
  wasActive: true,
  ports: [],
  createdBy: 'ann',
  createdAtMs: 0,
  ...more,
});

const port = (nic: number, more: Partial<Port> = {}): Port => ({
  id: `port-${nic}`,
  ...CHANGED,
  network: 'lan',
  project: 'default',
  createdBy: 'muster',
  state: 'made',
  mac: `fa:16:3e:00:00:0${nic}`,
  instance: 'web-1',
  nic,
  ipAllocation: 'deferred',
  addresses: [],
  serial: 1,
  attached: true,
  portSecurity: true,
  securityGroups: [],
  ...more,
});

const shown = (one: Instance): string =>
  renderFacts(INSTANCES.facts(one, NOW), plain) + instanceTables(one, plain, NOW);

describe('an instance', () => {
  test('that-runs: where it is and what it is connected to', () => {
    const address = (ip: string) => ({ ip, subnet: 's', chosenBy: 'bind' as const });
    const binding = { host: 'c1', serial: 1, segment: 'rack-a', type: 'ovs' };
    const ports = [
      port(0, { addresses: [address('10.0.1.2'), address('fd00::2')], binding, tag: 'mgmt' }),
      port(1, { createdBy: 'user', ipAllocation: 'none', binding: { host: 'c1', serial: 2, type: 'ovs' } }),
    ];
    expect(shown(instance({ ports, place: { zone: 'a', requiredTraits: ['nvme', 'gpu'] } }))).toMatchInlineSnapshot(`
      "Name          web-1
      State         active
      Host          c1
      Project       default
      Flavor        small: 2 vcpus, 4 GiB memory, 20 GiB disk
      Only in zone  a
      Needs traits  nvme, gpu
      Created       10m ago by ann
      Changed       10m ago by ann
      Revision      9

      NIC  NETWORK  ADDRESSES          MAC                BOUND               MADE BY  TAG   PORT
        0  lan      10.0.1.2, fd00::2  fa:16:3e:00:00:00  c1, segment rack-a  muster   mgmt  port-0
        1  lan      none               fa:16:3e:00:00:01  c1                  user     -     port-1
      "
    `);
  });

  test('that-found-no-host: what was tried, and why per filter', () => {
    const { host: _, ...homeless } = instance({ state: 'error', place: { group: 'web' } });
    const report = {
      hosts: 5,
      stages: [
        { filter: 'up', before: 5, after: 5 },
        {
          filter: 'segments',
          before: 5,
          after: 4,
          cause: 'segment-unreachable',
          sentence: '1 host reaches no segment.',
        },
        { filter: 'stock', before: 4, after: 0, cause: 'addresses-exhausted' },
      ],
    };
    const attempts = [
      {
        nth: 1,
        host: 'c1',
        site: 'central',
        pools: ['segment:rack-a', 'segment:rack-a'],
        fault: 'pool-empty',
        excludes: 'pool' as const,
        excludedPool: 'segment:rack-a',
        text: 'No address is left there.',
        atMs: 540_000,
      },
      {
        nth: 2,
        host: 'c2',
        pools: [],
        fault: 'spawn-failed',
        excludes: 'host' as const,
        text: 'It broke.',
        atMs: 570_000,
      },
    ];
    const fault = { code: 'addresses-exhausted', message: 'No host fits.', atMs: 590_000, report };
    expect(shown({ ...homeless, attempts, fault })).toMatchInlineSnapshot(`
      "Name          web-1
      State         error
      Project       default
      Flavor        small: 2 vcpus, 4 GiB memory, 20 GiB disk
      Server group  web
      Fault         No host fits. (addresses-exhausted, 10s ago)
      Created       10m ago by ann
      Changed       10m ago by ann
      Revision      9

      TRY     HOST  SITE     POOLS           WHEN     WENT WRONG
      1 of 3  c1    central  segment:rack-a  1m ago   pool-empty: No address is left there. Not tried again: segment:rack-a.
      2 of 3  c2    -        -               30s ago  spawn-failed: It broke. Not tried again: this host.

      Of 5 hosts, filter by filter:
      FILTER    BEFORE  AFTER  WHY
      up             5      5  -
      segments       5      4  1 host reaches no segment.
      stock          4      0  addresses-exhausted
      "
    `);
  });

  test('that-an-older-host-connects-by-itself says so', () => {
    expect(shown(instance({ path: { create: 'host', bind: 'host' } }))).toContain(
      'made by the host, bound by the host',
    );
    expect(shown(instance({ path: { create: 'conductor', bind: 'host' } }))).toContain(
      'made by the control plane, bound',
    );
  });

  test('that-could-not-be-moved: from where to where, and what went wrong', () => {
    const fault = { fault: 'migration-failed', excludes: 'host', text: 'The link broke.' } as const;
    const tries = [{ nth: 1, host: 'c2', pools: [], ...fault, atMs: 590_000 }];
    const move = { operation: 'op-1', kind: 'live' as const, from: 'c1', tries };
    expect(shown(instance({ move }))).toContain('Move      live from c1 to c2, in op-1: failed\n');
    expect(shown(instance({ move }))).toContain('migration-failed: The link broke. Not tried again: this host.');
    const underWay = { ...move, target: 'c3', tries: [] };
    expect(shown(instance({ move: underWay, state: 'moving' }))).toContain('live from c1 to c3, in op-1\n');
  });

  test('in-a-list', () => {
    const rows = [instance(), instance({ name: 'db', state: 'building', place: { group: 'g' } })];
    expect(renderTable(rows, INSTANCES.columns(NOW), plain)).toMatchInlineSnapshot(`
      "NAME   STATE     HOST  FLAVOR  PROJECT  GROUP  CREATED  FAULT
      web-1  active    c1    small   default  -      10m ago  -
      db     building  c1    small   default  g      10m ago  -
      "
    `);
  });
});

describe('gates', () => {
  const gates = (minimumVersion: number, below: readonly [number, number], credentials = true): Gates => ({
    minimumVersion,
    create: { open: minimumVersion >= 2, needs: 2, below: below[0] },
    bind: { open: minimumVersion >= 3, needs: 3, below: below[1] },
    credentials,
    path: { create: minimumVersion >= 2 ? 'conductor' : 'host', bind: minimumVersion >= 3 ? 'conductor' : 'host' },
  });

  test('open', () =>
    expect(renderFacts(gateFacts(gates(3, [0, 0])), plain)).toMatchInlineSnapshot(`
      "Lowest version  3
      Early create    open: every host has version 2 or later
      Early bind      open: every host has version 3 or later
      Credentials     present
      A build now     ports are made by the control plane and bound by the control plane
      "
    `));

  test('half-open: what is left to be done', () =>
    expect(renderFacts(gateFacts(gates(2, [0, 1])), plain)).toMatchInlineSnapshot(`
      "Lowest version  2
      Early create    open: every host has version 2 or later
      Early bind      closed: one host is below version 3
      Credentials     present
      A build now     ports are made by the control plane and bound by the host
      "
    `));

  test('closed, and without credentials', () =>
    expect(renderFacts(gateFacts(gates(1, [2, 4], false)), plain)).toMatchInlineSnapshot(`
      "Lowest version  1
      Early create    closed: 2 hosts are below version 2
      Early bind      closed: 4 hosts are below version 3
      Credentials     missing: networks that need some take the old way
      A build now     ports are made by the host and bound by the host
      "
    `));

  test('unknown-before-a-host-is-chosen', () =>
    expect(renderFacts(gateFacts(gates(0, [0, 0])), plain)).toContain('0: no host has reported its version yet'));
});
