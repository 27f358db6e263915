// muster baremetal, against real servers.
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { newFolder, run, start, startServer } from './muster.ts';

const server = await startServer(newFolder());
const { muster, json } = server;
const folder = newFolder();

const done = { code: 0, signal: null };
/** Only a test that fails waits so long. */
const PATIENCE = { timeout: 60_000, interval: 200 };

function fileOf(name: string, lines: readonly object[]): string {
  const path = join(folder, name);
  writeFileSync(path, lines.map((one) => `${JSON.stringify(one)}\n`).join(''));
  return path;
}

describe('nodes', () => {
  test('create, list, show, edit, maintenance, delete', async () => {
    const created = await muster(
      ...['baremetal', 'nodes', 'create', 'rack1-u07', '--resource-class', 'large', '--cpus', '8', '--memory', '64GiB'],
      ...['--disk', '480GiB', '--trait', 'CUSTOM_GPU', '--capabilities', 'boot_mode:uefi,has_gpu', '--site', 'central'],
    );
    expect(created).toMatchObject({ ...done, out: 'Node rack1-u07 is enrolled.\n' });
    expect((await muster('baremetal', 'nodes', 'list')).out.replaceAll(/ +/g, ' ')).toBe(
      [
        'NODE SITE CLASS CPUS MEMORY DISK STATE POWER INSTANCE MANAGER LAST SEEN NOTE\n',
        'rack1-u07 central large 8 64 GiB 480 GiB available off - - - The capability "has_gpu" is skipped: write it as name:value.\n',
      ].join(''),
    );
    const edited = await muster('baremetal', 'nodes', 'edit', 'rack1-u07', '--capabilities', '', '--cpus', '16');
    expect(edited.out).toMatch(
      /Counts as +free\n[^]*Hardware +16 cpus, 64 GiB memory, 480 GiB disk\n[^]*Traits +CUSTOM_GPU\n/,
    );
    expect(edited.out).not.toContain('Warning');
    expect((await muster('baremetal', 'nodes', 'maintenance', 'rack1-u07', '--reason', 'new fan')).out).toBe(
      'rack1-u07 is in maintenance: new fan\n',
    );
    expect((await muster('baremetal', 'nodes', 'list', '--maintenance', 'true')).out).toContain('maintenance: new fan');
    expect((await muster('baremetal', 'nodes', 'maintenance', 'rack1-u07', '--end')).out).toBe(
      'rack1-u07 is in service again.\n',
    );
    expect(await muster('baremetal', 'nodes', 'maintenance', 'rack1-u07')).toMatchObject({ code: 2 });
    expect((await muster('baremetal', 'nodes', 'confirm-clean', 'rack1-u07', '--reason', 'sure')).out).toBe(
      'rack1-u07 is available.\n',
    );
    expect((await muster('baremetal', 'nodes', 'delete', 'rack1-u07')).out).toBe('Node rack1-u07 is deleted.\n');
    expect((await muster('baremetal', 'nodes', 'list')).err).toContain('muster baremetal nodes import');
    expect(await json('baremetal', 'nodes', 'list', '--state', 'removed')).toMatchObject([{ id: 'rack1-u07' }]);
    expect(await muster('baremetal', 'nodes', 'edit', 'rack1-u07', '--cpus', '1')).toMatchObject({
      code: 1,
      err: expect.stringContaining('muster baremetal nodes create rack1-u07') as string,
    });
  });

  test('import from a file and from standard input, and again', async () => {
    const lines = Array.from({ length: 300 }, (_, at) => ({ name: `n${at}`, resourceClass: 'small', cpus: 4 }));
    const file = fileOf('nodes.ndjson', lines);
    expect(await muster('baremetal', 'nodes', 'import', file)).toMatchObject({
      ...done,
      out: '300 nodes: 300 created.\n',
    });
    expect((await muster('baremetal', 'nodes', 'import', file)).out).toBe('300 nodes: 300 as they were.\n');
    const piped = await server.with(
      { input: '{"name":"n1","cpus":8}\n{"name":"p1","capabilities":"x"}' },
      'baremetal',
      'nodes',
      'import',
      '-',
    );
    expect(piped.out).toBe('2 nodes: 1 created, 1 changed.\n');
    expect(piped.err).toBe('line 2, p1: The capability "x" is skipped: write it as name:value.\n');
    expect(await json('baremetal', 'nodes', 'show', 'n1')).toMatchObject({ cpus: 8 });
  });

  test('a bad line is named, and nothing is changed', async () => {
    const file = fileOf('bad.ndjson', [{ name: 'b1' }, { name: 'b2', cpu: 4 }]);
    const refused = await muster('baremetal', 'nodes', 'import', file);
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toContain('line 2: /cpu is not a known field (did you mean "cpus"?)');
    expect(await muster('baremetal', 'nodes', 'show', 'b1')).toMatchObject({ code: 1 });
  });
});

describe('an Ironic', () => {
  test.each([['serve'], ['manager', '--name', 'm1', '--token', 'x']])(
    'with a wrong address: %s does not start',
    async (...program) => {
      const ended = await run([...program, '--ironic', 'ironic.example.org'], { cwd: folder });
      expect(ended).toMatchObject({
        code: 1,
        out: '',
        err: '"ironic.example.org" is not the address of an Ironic, such as http://10.0.0.2:6385.\n',
      });
    },
  );
});

describe('an import that is interrupted', () => {
  /** A server that gives the answers of the test, and keeps the requests. */
  async function scripted(answers: readonly ([number, object] | 'cut')[]) {
    const bodies: string[] = [];
    const serve = async (request: IncomingMessage, reply: ServerResponse): Promise<void> => {
      const answer = answers[Math.min(bodies.length, answers.length - 1)]!;
      let text = '';
      for await (const chunk of request) text += String(chunk);
      bodies.push(text);
      if (answer === 'cut') request.socket.destroy();
      else {
        const headers = { 'content-type': 'application/json', 'retry-after': '1' };
        reply.writeHead(answer[0], headers).end(JSON.stringify(answer[1]));
      }
    };
    const fake = createServer((request, reply) => void serve(request, reply));
    await new Promise<void>((resolve) => fake.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      fake.closeAllConnections();
      fake.close();
    });
    return { url: `http://127.0.0.1:${(fake.address() as AddressInfo).port}`, bodies };
  }

  const COUNTS = { lines: 2, created: 1, revived: 0, changed: 0, unchanged: 1, warnings: [] };
  const INTERRUPTED = { status: 503, code: 'call-interrupted', detail: 'Repeat it.' };

  test('is repeated whole until it is complete', async () => {
    const { url, bodies } = await scripted([[503, INTERRUPTED], 'cut', [200, COUNTS]]);
    const file = fileOf('two.ndjson', [{ name: 'a' }, { name: 'b' }]);
    const ended = await run(['baremetal', 'nodes', 'import', file, '--server', url, '--token', 'x']);
    expect(ended).toMatchObject({ ...done, out: '2 nodes: 1 created, 1 as they were.\n' });
    expect(bodies).toEqual(Array.from({ length: 3 }, () => '{"name":"a"}\n{"name":"b"}\n'));
  });

  test('says how far it is, and at Ctrl-C how to complete it', async () => {
    const silent = createServer((request) => void request.resume());
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      silent.closeAllConnections();
      silent.close();
    });
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const file = fileOf('slow.ndjson', [{ name: 'a' }, { name: 'b' }]);
    const started = start(['baremetal', 'nodes', 'import', file, '--server', url, '--token', 'x']);
    await started.said(/all 2 lines are sent; the server checks and commits them/);
    started.child.kill('SIGINT');
    const ended = await started.ended;
    expect(ended.code).toBe(130);
    expect(ended.err).toContain('Repeat the import to complete it');
  });

  test('a file of more lines than a call takes goes in several calls', async () => {
    const many = { lines: 100_000, created: 100_000, revived: 0, changed: 0, unchanged: 0 };
    const warnings = [{ line: 1, node: 'n', message: 'x' }];
    const { url, bodies } = await scripted([
      [200, { ...many, warnings: [] }],
      [200, { ...many, lines: 1, created: 1, warnings }],
    ]);
    const path = join(folder, 'many.ndjson');
    writeFileSync(path, '{"name":"n"}\n'.repeat(100_001));
    const ended = await run(['baremetal', 'nodes', 'import', path, '--server', url, '--token', 'x']);
    expect(ended).toMatchObject({ ...done, out: '100001 nodes: 100001 created.\n' });
    expect(ended.err).toContain('line 100001, n: x\n');
    expect(bodies.map((body) => body.split('\n').length - 1)).toEqual([100_000, 1]);
  });
});

describe('capacity', () => {
  test('in all, by site and by class', async () => {
    await muster('baremetal', 'nodes', 'create', 'c1', '--site', 'central', '--resource-class', 'large');
    const { out } = await muster('baremetal', 'capacity');
    expect(out.replaceAll(/ +/g, ' ')).toMatch(
      /^NODES TOTAL FREE RESERVED DEPLOYING ACTIVE CLEANING UNAVAILABLE\nall 302 302 0 0 0 0 0\nin no site 301 [^]*in site central 1 1 [^]*of class large 1 1 [^]*of class small 299 /,
    );
    expect(await json('baremetal', 'capacity', '--resource-class', 'large')).toMatchObject({
      total: 1,
      buckets: { free: 1 },
      resourceClasses: [{ resourceClass: 'large', total: 1 }],
    });
  });

  test('completion knows the group', async () => {
    expect((await run(['completion', 'bash'])).out).toContain('baremetal/nodes');
  });
});

describe('reservations', () => {
  test('create, list, show, release; one that finds no node says what was left after each stage', async () => {
    const token = (await muster('token', 'create', 'm1', '--role', 'manager', '--manager', 'm1')).out
      .trim()
      .split('\n')
      .at(-1);
    const registered = await fetch(`${server.url}/api/v1/managers/m1`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ holder: 'p-1', version: '1' }),
    });
    expect(registered.status).toBeLessThan(300);
    await muster('baremetal', 'nodes', 'create', 'only-one', '--resource-class', 'rare', '--memory', '64GiB');
    const serverRequest = {
      instance_uuid: 'db-1',
      manager: 'm1',
      extra_specs: { 'resources:CUSTOM_RARE': '1', 'hw:numa': '1' },
    };
    const reservations = ['baremetal', 'reservations'] as const;
    expect(await muster(...reservations, 'create', fileOf('asked.json', [serverRequest]))).toMatchObject({
      ...done,
      out: 'Node only-one is reserved for db-1.\n',
    });
    expect((await muster(...reservations, 'list')).out.replaceAll(/ +/g, ' ')).toMatch(
      /^INSTANCE STATE NODE MANAGER PROJECT REQUESTED REASON\ndb-1 active only-one m1 - [^\n]* -\n$/,
    );
    expect((await muster(...reservations, 'show', 'db-1')).out).toMatch(
      /Node +only-one, under its epoch 1\n[^]*Ignored +hw:numa\n/,
    );
    const refused = await muster(
      ...reservations,
      'create',
      fileOf('second.json', [{ ...serverRequest, instance_uuid: 'db-2' }]),
    );
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toMatch(/^candidates: [^\n]*\nstate: \d+ of \d+ are free: /);
    expect(refused.err).toMatch(/\nclass: 0 of \d+ are of resource class CUSTOM_RARE\.\n/);
    expect(refused.err).not.toContain('sizes:');
    expect(refused.err).toContain('No node for instance "db-2": ');
    expect((await muster(...reservations, 'show', 'db-2')).out).toMatch(
      /State +error\n[^]*Nodes left +candidates: There [^\n]*\./,
    );
    expect((await muster(...reservations, 'release', 'db-1', 'db-2')).out).toBe(
      'The reservation of db-1 is released.\nThe reservation of db-2 is released.\n',
    );
    expect(await json(...reservations, 'list')).toEqual([]);
    expect(await muster(...reservations, 'create', fileOf('list.json', [serverRequest, serverRequest]))).toMatchObject({
      code: 2,
    });
  });
});

describe('managers', () => {
  test('rebalance: refused while there is one, moves nodes to a second one, and has nothing to do then', async () => {
    const data = newFolder();
    const own = await startServer(data, '--manager', 'm1');
    const managers = ['baremetal', 'managers'] as const;
    await vi.waitFor(
      async () => expect((await own.muster(...managers, 'list', '--state', 'live')).out).toContain('m1'),
      PATIENCE,
    );
    const refused = await own.muster(...managers, 'rebalance');
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toContain('there is 1. Start another one with "muster manager"');
    const lines = Array.from({ length: 4 }, (_, nth) => ({ name: `r${nth}`, cpus: 8, memoryMiB: 8192, localGiB: 100 }));
    await own.muster('baremetal', 'nodes', 'import', fileOf('four.ndjson', lines));
    for (const nth of [0, 1, 2, 3])
      await own.muster(
        'baremetal',
        'reservations',
        'create',
        fileOf('one.json', [{ instance_uuid: `i${nth}`, manager: 'm1' }]),
      );
    const token = (await own.muster('token', 'create', 'm2', '--role', 'manager', '--manager', 'm2')).out
      .trim()
      .split('\n')
      .at(-1)!;
    start(['manager', '--name', 'm2', '--server', own.url, '--token', token]);
    await vi.waitFor(
      async () => expect((await own.muster(...managers, 'list', '--state', 'live')).out).toContain('m2'),
      PATIENCE,
    );
    const rebalanced = await own.muster(...managers, 'rebalance', '--reason', 'a second one', '--wait');
    expect(rebalanced).toMatchObject({ code: 0 });
    expect(rebalanced.out).toContain('succeeded: even out the nodes of managers');
    expect(await own.json(...managers, 'list')).toMatchObject([{ usedHere: 2 }, { usedHere: 2 }]);
    expect((await own.muster(...managers, 'rebalance')).err).toContain('have even shares of the nodes already');
    await own.stop();
  });
});
