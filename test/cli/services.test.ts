// Services on a real server with three simulated hosts: they come with a router, are explained, moved, held on to and evened
// out, and go with it.
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { newFolder, startServer } from './muster.ts';

const server = await startServer(newFolder(), '--demo', '3');
const { muster, json } = server;
const done = { code: 0, signal: null };
const UNKNOWN = 'There is no service "nat:none". List them with "muster services list".\n';

interface Shown {
  readonly id: string;
  readonly designated?: { readonly host: string };
}

const hostOf = async (id: string): Promise<string | undefined> =>
  (await json<Shown>('services', 'show', id)).designated?.host;

/** Elections come soon after what they are about, and not with it. */
async function soon(isSo: () => Promise<boolean>): Promise<void> {
  await vi.waitFor(async () => expect(await isSo()).toBe(true), { timeout: 30_000, interval: 200 });
}

beforeAll(async () => {
  const joins = await json<{ id: string }[]>('operations', 'list', '--kind', 'host-join');
  for (const { id } of joins) expect(await muster('operations', 'wait', id, '--timeout', '60s')).toMatchObject(done);
  const made: readonly string[][] = [
    ['networks', 'create', 'office'],
    ['subnets', 'create', 'floor', '--network', 'office', '--cidr', '10.7.0.0/24', '--dhcp'],
    ['networks', 'create', 'internet', '--external'],
    ['subnets', 'create', 'uplink', '--network', 'internet', '--cidr', '203.0.113.0/24'],
    ['flavors', 'create', 'tiny', '--vcpus', '1', '--memory', '512MiB', '--disk', '1GiB'],
    ['groups', 'create', 'apart', '--policy', 'anti-affinity'],
    [
      'instances',
      'create',
      'web',
      '--flavor',
      'tiny',
      '--network',
      'office',
      '--count',
      '3',
      '--group',
      'apart',
      '--wait',
    ],
    ['routers', 'create', 'branch', '--subnet', 'floor', '--external-network', 'internet'],
  ];
  for (const words of made) expect(await muster(...words)).toMatchObject(done);
  await soon(async () => (await json<Shown[]>('services', 'list', '--designated', 'true')).length === 3);
});

describe('services', () => {
  test('come-with-a-router-and-with-dhcp-one-on-each-host', async () => {
    const { out } = await muster('services', 'list', '--designated', 'true');
    expect(out).toMatch(
      /^SERVICE +HOST +SINCE +NOTE\ndhcp:floor +\S+ .*\nnat:branch +\S+ .*\nsubnet-route:floor +\S+ .*\n$/,
    );
    const hosts = (await json<Shown[]>('services', 'list', '--designated', 'true')).map(
      ({ designated }) => designated?.host,
    );
    expect(new Set(hosts).size).toBe(3);
    const [host = ''] = hosts;
    expect(await json('services', 'list', '--host', host)).toMatchObject([{ id: 'dhcp:floor' }]);
    expect(await json('services', 'list', '--type', 'nat', '--designated', 'true')).toMatchObject([
      { id: 'nat:branch' },
    ]);
  });

  test('say-why-they-are-where-they-are', async () => {
    const host = await hostOf('nat:branch');
    const { out } = await muster('services', 'why', 'nat:branch');
    expect(out).toContain(`It was not served yet: ${host} was chosen with score 0`);
    expect(out).toMatch(/Now these can take it: (\S+ with -?\d(, |\.)){3}/);
    expect(await json('services', 'why', 'nat:branch')).toMatchObject({
      service: 'nat:branch',
      now: { candidatesInAll: 3 },
    });
    expect((await muster('services', 'show', 'nat:branch')).out).toMatch(
      new RegExp(`Host +${host}\\n[^]*Why +It was not served yet`),
    );
  });

  test('are-moved-to-a-host-and-to-the-best-and-not-to-where-they-are', async () => {
    const from = await hostOf('nat:branch');
    const to = ['compute-1', 'compute-2', 'compute-3'].find((one) => one !== from) ?? '';
    const moved = await muster(
      'services',
      'move',
      'nat:branch',
      '--host',
      to,
      '--wait',
      '--timeout',
      '60s',
      '--reason',
      'a try',
    );
    expect(moved).toMatchObject(done);
    expect(moved.out).toMatch(new RegExp(`succeeded: handover of nat:branch to ${to}, 1/1 done`));
    expect(await hostOf('nat:branch')).toBe(to);
    expect((await muster('services', 'move', 'nat:branch', '--host', to)).out).toBe(
      `nat:branch is at ${to} already.\n`,
    );
    expect(await muster('services', 'move', 'nat:branch', '--wait', '--timeout', '60s')).toMatchObject(done);
    expect(await hostOf('nat:branch')).toBe(from);
  });

  test('are-evened-out-on-request', async () => {
    const at = await hostOf('dhcp:floor');
    for (const id of ['nat:branch', 'subnet-route:floor']) {
      const moved = await muster('services', 'move', id, '--host', at ?? '', '--wait', '--timeout', '60s');
      expect(moved).toMatchObject(done);
    }
    const even = await muster('services', 'rebalance', '--wait', '--timeout', '60s');
    expect(even).toMatchObject(done);
    expect(even.out).toMatch(/^SERVICE +FROM +TO\n/);
    expect((await muster('services', 'rebalance')).out).toBe('It is even already.\n');
  });

  test('show-what-to-do-when-their-host-leaves-or-falls-silent', async () => {
    const edited = await muster('services', 'edit', 'nat:branch', '--exclusion', 'hard', '--on-control-loss', 'hold');
    expect(edited).toMatchObject(done);
    expect(edited.out).toMatch(/Exclusion +hard\nOn control loss +hold\n/);
    const stale = await muster('services', 'edit', 'nat:branch', '--exclusion', 'soft', '--if-revision', '1');
    expect(stale).toMatchObject({ code: 1 });
    expect(await muster('services', 'edit', 'nat:branch')).toMatchObject({ code: 2 });
    expect(await muster('services', 'edit', 'nat:branch', '--exclusion', 'maybe')).toMatchObject({ code: 2 });
  });

  test.each<[string, string[], string]>([
    ['an unknown one', ['services', 'show', 'nat:none'], UNKNOWN],
    ['why of an unknown one', ['services', 'why', 'nat:none'], UNKNOWN],
    ['a move of an unknown one', ['services', 'move', 'nat:none'], UNKNOWN],
    ['an edit of an unknown one', ['services', 'edit', 'nat:none', '--exclusion', 'hard'], UNKNOWN],
    ['a move to nowhere', ['services', 'move', 'nat:branch', '--host', 'nope'], 'There is no host "nope"'],
  ])('%s is refused with 1', async (_why, words, sentence) => {
    const refused = await muster(...words);
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toContain(sentence);
  });

  test('stay-where-they-are-while-elections-are-held', async () => {
    const held = JSON.stringify({ held: true, handoverDrainMs: 1000, handoversAtOnce: 256 });
    expect(await muster('settings', 'set', 'election', held)).toMatchObject(done);
    const refused = await muster('services', 'move', 'dhcp:floor');
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.err).toContain('Elections are held by the setting');
    expect(await muster('settings', 'set', 'election', held.replace('true', 'false'))).toMatchObject(done);
  });

  test('go-with-their-router', async () => {
    expect(await muster('routers', 'delete', 'branch')).toMatchObject(done);
    await soon(async () => (await json<Shown[]>('services', 'list', '--designated', 'true')).length === 1);
    expect(await json('services', 'list', '--designated', 'true')).toMatchObject([{ id: 'dhcp:floor' }]);
    expect(await json('services', 'list', '--subject', 'branch')).toEqual([]);
    const none = { ...done, out: '', err: 'No services match these filters.\n' };
    expect(await muster('services', 'list', '--subject', 'branch')).toMatchObject(none);
  });
});
