// Every command's ordinary way, against one real server without hosts of its own.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { describe, expect, test } from 'vitest';
import { newFolder, startServer } from './muster.ts';

const server = await startServer(newFolder());
const { muster, json } = server;

const done = { code: 0, signal: null };

interface Host {
  readonly name: string;
  readonly zone: string;
  readonly revision: number;
  readonly changedAtMs: number;
  readonly capacity: object;
}

describe('sites', () => {
  test('create, list, show, describe, delete', async () => {
    expect(await muster('sites', 'create', 'edge-7', '--description', 'shop 7')).toMatchObject({
      ...done,
      out: 'Site edge-7 is created.\n',
    });
    expect((await muster('sites', 'list')).out).toMatch(
      /^NAME +DESCRIPTION +CHANGED +BY\ncentral .*\nedge-7 +shop 7 +/,
    );
    expect((await muster('sites', 'describe', 'edge-7', 'shop 7, 2nd floor')).out).toMatch(
      /Description +shop 7, 2nd floor/,
    );
    expect(await json('sites', 'show', 'edge-7')).toMatchObject({ name: 'edge-7', description: 'shop 7, 2nd floor' });
    expect((await muster('sites', 'delete', 'edge-7')).out).toBe('Site edge-7 is deleted.\n');
    expect(await json('sites', 'list')).toMatchObject([{ name: 'central' }]);
  });
});

describe('hosts', () => {
  test('join by name, list, show, edit', async () => {
    const joined = await muster('hosts', 'join', 'c1', 'c2', '--vcpus', '8', '--memory', '4GiB', '--zone', 'b');
    expect(joined).toMatchObject(done);
    expect(joined.out).toMatch(/^op-[0-9a-z]{20}: 2 hosts join\.\n$/);
    expect(joined.err).toMatch(/Follow it with: muster operations wait op-/);
    expect((await muster('hosts', 'list', '--zone', 'b')).out.replaceAll(/ +/g, ' ')).toBe(
      [
        'NAME SITE ZONE STATE CONNECTION VCPUS MEMORY DISK NOTE\n',
        'c1 central b joining unknown 8 4 GiB 0 GiB -\n',
        'c2 central b joining unknown 8 4 GiB 0 GiB -\n',
      ].join(''),
    );
    expect((await muster('hosts', 'list', '--quarantined')).err).toBe('No host is in quarantine.\n');
    expect((await muster('hosts', 'list', '--zone', 'z', '--sort', 'name')).err).toBe(
      'No hosts match these filters.\n',
    );
    const edited = await muster('hosts', 'edit', 'c1', '--zone', 'a', '--memory', '8GiB', '--trait', 'gpu,nvme');
    expect(edited.out).toMatch(/Zone +a\n[^]*Capacity +8 vcpus, 8 GiB memory[^]*Traits +gpu, nvme/);
    expect((await muster('hosts', 'edit', 'c1', '--resource', 'gpu=2', '--resource', 'licence=1')).out).toMatch(
      /Resources +2 gpu, 1 licence\n/,
    );
    const host = await json<Host>('hosts', 'show', 'c1');
    expect(host).toMatchObject({ zone: 'a', traits: ['gpu', 'nvme'], capacity: { vcpus: 8, memoryMiB: 8192 } });
    const late = await muster('hosts', 'edit', 'c1', '--zone', 'c', '--if-revision', String(host.revision - 1));
    expect(late).toMatchObject({ code: 1, out: '' });
    expect(late.err).toContain('was changed since');
  });

  test('join from a file, and from standard input', async () => {
    const file = join(server.data, 'hosts.yaml');
    writeFileSync(file, 'hosts:\n  - name: f1\n    zone: x\n    capacity: {vcpus: 2}\n  - f2\n');
    expect(await muster('hosts', 'join', '-f', file, '--vcpus', '16')).toMatchObject(done);
    expect(await json('hosts', 'list')).toMatchObject([
      { name: 'c1' },
      { name: 'c2' },
      { name: 'f1', zone: 'x', capacity: { vcpus: 2 } },
      { name: 'f2', zone: 'default', capacity: { vcpus: 16 } },
    ]);
    const piped = await server.with({ input: '[{"name": "p1"}]' }, 'hosts', 'join', '-f', '-', '--output', 'json');
    expect(JSON.parse(piped.out)).toMatchObject({ count: 1 });
  });

  test('disable, enable, force down and up, with what the list says of it', async () => {
    expect((await muster('hosts', 'disable', 'c1', 'c2', '--reason', 'fan')).out).toBe(
      'c1 is disabled: fan\nc2 is disabled: fan\n',
    );
    expect((await muster('hosts', 'force-down', 'c1', '--reason', 'unplugged')).out).toBe(
      'c1 is forced down: unplugged\n',
    );
    expect((await muster('hosts', 'list')).out).toMatch(/c1 .* forced down: unplugged; disabled: fan\n/);
    expect((await muster('hosts', 'clear-force-down', 'c1')).out).toBe('c1 is no longer forced down.\n');
    expect((await muster('hosts', 'enable', 'c1', 'c2')).out).toBe('c1 is enabled.\nc2 is enabled.\n');
    for (const [words, why] of [
      [['enable', 'c1'], 'c1 is enabled already'],
      [['clear-force-down', 'c1'], 'c1 is not forced down'],
      [['re-admit', 'c1', '--reason', 'x'], 'c1 is not in quarantine'],
    ] as const) {
      expect(await muster('hosts', ...words)).toMatchObject({ code: 0, out: `Nothing was changed: ${why}.\n` });
    }
    expect((await muster('hosts', 'list')).out).not.toContain('fan');
    const some = await muster('hosts', 'disable', 'nobody', 'c2', '--reason', 'fan');
    expect(some).toMatchObject({ code: 1, out: 'c2 is disabled: fan\n' });
    expect(some.err).toContain('no host "nobody"');
  });

  test('join-token: the secret alone is on standard output', async () => {
    const { code, out, err } = await muster('hosts', 'join-token', 'c1', '--expires', '10m');
    expect(code).toBe(0);
    expect(out).toMatch(/^mst_\S+\n$/);
    expect(err).toMatch(/It expires in \d+m\./);
  });
});

describe('operations', () => {
  test('list, show with reasons, cancel', async () => {
    const listed = await json<{ id: string; title: string }[]>('operations', 'list');
    expect(listed.map(({ title }) => title)).toEqual(['join host p1', 'join 2 hosts', 'join 2 hosts']);
    const [newest] = listed;
    const shown = await muster('operations', 'show', newest?.id ?? '');
    expect(shown.out).toMatch(/What +join host p1 \(host-join\)\nState +running\nItems +0\/1 done, 1 waiting\n/);
    expect(shown.out).toMatch(/host\/p1 +waiting +await-agent .* Host p1 has no agent yet\. Get a join token with/);
    const cancelled = await muster('operations', 'cancel', newest?.id ?? '', '--wait', '--reason', 'mistyped');
    expect(cancelled).toMatchObject(done);
    expect(cancelled.out).toMatch(/cancelled: join host p1, 0\/1 done, 1 cancelled\./);
    expect(await json('operations', 'list', '--state', 'cancelled')).toHaveLength(1);
    expect(await muster('hosts', 'show', 'p1')).toMatchObject({
      code: 1,
      err: expect.stringContaining('no host "p1"') as string,
    });
  });
});

describe('the rest', () => {
  test('settings: list, show, set a field, set a whole value, reset', async () => {
    expect((await muster('settings', 'list')).out).toMatch(
      /liveness +suspectAfterMs=15000 .* default\nretention +historyDays=90/,
    );
    expect((await muster('settings', 'set', 'liveness', 'downAfterMs=120000')).out).toMatch(
      /downAfterMs=120000 steadyMs=5000/,
    );
    expect(await json('settings', 'set', 'scheduler', 'weights.memory=-1', 'instancesPerHostMax=50')).toMatchObject({
      value: { weights: { memory: -1, vcpus: 1 }, instancesPerHostMax: 50 },
    });
    expect((await muster('settings', 'set', 'scheduler', 'weights.colour=1')).err).toContain('/weights/colour');
    expect(await json('settings', 'set', 'retention', '{historyDays: 30}')).toMatchObject({
      value: { historyDays: 30 },
    });
    expect((await muster('settings', 'show', 'retention')).out).toMatch(
      /Value +historyDays=30\nDefault +historyDays=90\n/,
    );
    expect((await muster('settings', 'reset', 'retention')).out).toMatch(/Value +historyDays=90\n[^]*Changed +never/);
  });

  test('tokens: create, use, list, revoke', async () => {
    const made = await muster('token', 'create', 'wallboard', '--role', 'viewer', '--expires', '1d');
    const secret = made.out.trim();
    expect(made.err).toMatch(/Token (tk-\w+) \(viewer\)\. Keep it: it is not shown again\./);
    const [, id = ''] = /Token (tk-\w+)/.exec(made.err) ?? [];
    expect(await muster('sites', 'list', '--token', secret)).toMatchObject(done);
    const refused = await muster('sites', 'create', 'x', '--token', secret);
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect((await muster('token', 'list', '--role', 'viewer')).out).toMatch(/wallboard +viewer +- +good, expires in/);
    expect((await muster('token', 'revoke', id)).out).toBe(`Token ${id} (wallboard) is revoked.\n`);
    const revoked = await muster('sites', 'list', '--token', secret);
    expect(revoked.code).toBe(1);
    expect(revoked.err).toContain('Give another token with --token, --token-file or MUSTER_TOKEN');
  });

  test('history of one host, field by field, and of an operation', async () => {
    expect((await muster('history', 'host/c1')).out).toMatch(
      /admin: disable: fan\n {2}host\/c1 enabled true → false, disabled {"reason":"fan"/,
    );
    const [operation] = await json<{ id: string }[]>('operations', 'list', '--state', 'cancelled');
    const { out } = await muster('history', '--operation', operation?.id ?? '');
    expect(out).toMatch(/mistyped, in op-\w+\n {2}operation\/\S+ cancelling/);
    expect(await json('history', 'host/c1', '--limit', '2')).toHaveLength(2);
    expect(await muster('history', 'host/nope')).toMatchObject({
      code: 1,
      err: 'There is no host/nope that you can see, and no history of one is kept. Check the kind and the name.\n',
    });
    expect(await muster('history', 'host/c1', '--before', '1')).toMatchObject({
      code: 0,
      err: 'Nothing that is still kept.\n',
    });
  });

  test('watch from the beginning: text, and a JSON object a line', async () => {
    const text = await muster('watch', '--after', '0', '--limit', '2');
    expect(text).toMatchObject(done);
    expect(text.out).toMatch(
      /^1 {2}\d\d:\d\d:\d\d {2}first start: an empty fleet has one site, and one zone [^\n]+\n {2}site\/central\n {2}transport-zone\/default\n\d+ /,
    );
    const lines = (await muster('watch', '--after', '0', '--limit', '3', '--kind', 'host', '-o', 'json')).out
      .trim()
      .split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { changes: { kind: string }[] }).changes[0]?.kind)).toEqual(
      Array.from({ length: 3 }, () => 'host'),
    );
  });

  test('alarms, version, yaml', async () => {
    expect(await muster('alarms')).toMatchObject({ ...done, out: '', err: 'No alarms.\n' });
    expect(await json('alarms')).toEqual([]);
    expect((await muster('version')).out).toMatch(/^muster \d+\.\d+\.\d+ \(Node 24\./);
    const { out } = await muster('hosts', 'show', 'c1', '--output', 'yaml');
    expect(parse(out)).toEqual(await json('hosts', 'show', 'c1'));
  });

  test('times are relative for people and absolute for programs', async () => {
    expect((await muster('hosts', 'show', 'f1')).out).toMatch(/Changed +(?:now|\d+s ago|1m ago) by admin/);
    expect((await json<Host>('hosts', 'show', 'f1')).changedAtMs).toBeGreaterThan(Date.now() - 600_000);
  });

  test('verbose writes requests to standard error, with their ids', async () => {
    const { out, err } = await muster('hosts', 'show', 'nobody', '--verbose');
    expect(out).toBe('');
    expect(err).toMatch(/GET \/api\/v1\/hosts\/nobody: 404 in \d+ ms, request (rq-\S+)\n[^]*Request id: \1\n/);
  });
});

// Last: what comes before counts the hosts and operations that there are.
describe('joining hosts', () => {
  test('a host that nothing can be placed on is warned of, with what to do', async () => {
    const { code, err } = await muster('hosts', 'join', 'z1', 'z2', '--vcpus', '8');
    expect(code).toBe(0);
    expect(err).toContain(
      [
        'Warning: z1, z2 have no vcpus or no memory: nothing can be placed there.',
        'Give sizes with: muster hosts edit z1 --vcpus 32 --memory 128GiB --disk 1TiB\n',
      ].join('\n'),
    );
    const list = '[{name: z3, capacity: {memoryMiB: 1024}}, {name: z4, capacity: {vcpus: 0}}]';
    const piped = await server.with({ input: list }, 'hosts', 'join', '-f', '-', '--vcpus', '8', '-o', 'json');
    expect(piped.err).toContain('Warning: z4 has no vcpus or no memory');
    const sized = ['--vcpus', '8', '--memory', '1GiB', '--tunnel-address', '192.0.2.9'];
    expect((await muster('hosts', 'join', 'z5', ...sized)).err).not.toContain('Warning');
    expect((await muster('hosts', 'show', 'z5')).out).toMatch(/^Tunnel address +192\.0\.2\.9$/m);
  });

  test('a host that is on its way names its operation and what it waits for', async () => {
    const { out } = await muster('hosts', 'show', 'z1');
    expect(out).toMatch(/State +joining\n/);
    expect(out).toMatch(/Under way +op-\w+ waiting: Host z1 has no agent yet\. Get a join token with/);
  });
});
