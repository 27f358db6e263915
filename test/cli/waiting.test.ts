// --wait, on a server whose simulated hosts come into service by themselves.
import { describe, expect, test, vi } from 'vitest';
import { runWords } from '../../src/cli/output/terminal-fixture.ts';
import { newFolder, startServer } from './muster.ts';

// Hosts that are joined here get a simulated agent a few seconds later.
const server = await startServer(newFolder(), '--demo', '1');

interface Host {
  readonly name: string;
  readonly connection: { readonly state: string };
}

// Each of these takes seconds, in which it only waits.
describe.concurrent('waiting for an operation', () => {
  test('plain lines show waits with their reasons, and the end is the result', async () => {
    const { code, out, err } = await server.muster('hosts', 'join', 'w1', 'w2', '--wait');
    expect(code).toBe(0);
    expect(out).toMatch(/^op-\w+ succeeded: join 2 hosts, 2\/2 done\.\n$/);
    expect(err).toMatch(/^op-\w+ running: 0\/2 done, 2 waiting\n {2}w1 waiting: Host w1 has no agent yet\./m);
    expect(err).toMatch(/op-\w+ succeeded: 2\/2 done\n$/);
    const active = await server.json<Host[]>('hosts', 'list', '--state', 'active');
    expect(active.map(({ name }) => name)).toEqual(expect.arrayContaining(['w1', 'w2']));
  });

  test('programs get the operation as it ended', async () => {
    expect(await server.json('hosts', 'join', 'w3', '--wait')).toMatchObject({
      state: 'succeeded',
      counts: { done: 1, waiting: 0 },
    });
  });

  test('a terminal gets a picture that is drawn again and again, and gone at the end', async () => {
    const sizes = ['--vcpus', '8', '--memory', '4GiB'];
    const words = ['hosts', 'join', 'w8', ...sizes, '--wait', '--server', server.url, '--data', server.data];
    const { code, out, err } = await runWords(words, { outIsTerminal: true, errIsTerminal: true });
    expect(code).toBe(0);
    expect(out).toMatch(/^op-\w+ succeeded: join host w8, 1\/1 done\.\n$/);
    const pictures = err.split('\u001B[J');
    expect(pictures[0]).toMatch(/^░{24} join host w8: 0\/1 done, /);
    expect(pictures[0]).toContain('\u001B[34mrunning\u001B[39m\n');
    expect(pictures.slice(0, -1).filter((picture) => !/\[\dA$/.test(picture))).toEqual([]);
    expect(pictures.at(-1)).toBe('');
  });

  test('NO_COLOR and --no-color count, also on a terminal', async () => {
    const words = ['hosts', 'list', '--server', server.url, '--data', server.data];
    const terminal = { outIsTerminal: true, errIsTerminal: true };
    expect((await runWords(words, terminal)).out).toContain('\u001B[');
    expect((await runWords(words, { ...terminal, env: { NO_COLOR: '1' } })).out).not.toContain('\u001B[');
    expect((await runWords([...words, '--no-color'], terminal)).out).not.toContain('\u001B[');
  });

  test('--timeout ends the waiting with 5, not the operation', async () => {
    const { code, out, err } = await server.muster('hosts', 'join', 'w4', '--wait', '--timeout', '300ms');
    expect({ code, out }).toEqual({ code: 5, out: '' });
    const [, id = ''] =
      /The operation (op-\w+) is still running and continues\. Wait for it again with: muster operations wait/.exec(
        err,
      ) ?? [];
    expect(await server.muster('operations', 'wait', id, '--timeout', '1m')).toMatchObject({ code: 0 });
  });

  test('Ctrl-C leaves the operation running and says how to look at it again', async () => {
    const waiting = server.startCommand('hosts', 'join', 'w5', '--wait');
    const [, id = ''] = await waiting.said(/(op-\w+) running: 0\/1 done, 1 waiting/);
    waiting.child.kill('SIGINT');
    const { code, err } = await waiting.ended;
    expect(code).toBe(130);
    expect(err).toContain(`The operation ${id} continues. Wait for it again with: muster operations wait ${id}`);
    expect(await server.muster('operations', 'wait', id)).toMatchObject({ code: 0 });
  });

  test('an operation that fails is 4, and can be retried', async () => {
    const failing = await server.muster('hosts', 'join', 'w6', '--deadline', '2s', '--wait');
    expect(failing.code).toBe(4);
    const why = 'The deadline has passed. Until then it waited: Host w6 has no agent yet.';
    expect(failing.out).toMatch(/^op-\w+ failed: join host w6, 0\/1 done, 1 failed\. The deadline/);
    expect(failing.out).toContain(why);
    const [id = ''] = /op-\w+/.exec(failing.out) ?? [];
    expect(failing.err).toContain(`See which and why with: muster operations show ${id}`);
    const shown = await server.muster('operations', 'show', id, '--state', 'failed');
    expect(shown.out).toMatch(/host\/w6 +failed .* The deadline has passed/);
    expect(shown.out).toContain(why);
    // Its agent comes too late for the first try, and is there for the second.
    const isUp = async (): Promise<boolean> =>
      (await server.json<Host>('hosts', 'show', 'w6')).connection.state === 'up';
    await vi.waitUntil(isUp, { timeout: 30_000, interval: 200 });
    expect(await server.muster('operations', 'retry', id, '--wait')).toMatchObject({ code: 0 });
  });

  test('an operation that is cancelled while it is waited for is 4', async () => {
    const waiting = server.startCommand('hosts', 'join', 'w7', '--wait');
    const [, id = ''] = await waiting.said(/(op-\w+) running/);
    expect(await server.muster('operations', 'cancel', id)).toMatchObject({ code: 0 });
    expect(await waiting.ended).toMatchObject({
      code: 4,
      out: expect.stringContaining('cancelled: join host w7') as string,
    });
  });
});

describe('watching', () => {
  test('Ctrl-C ends it with 130, after what was printed', async () => {
    const watch = server.startCommand('watch', '--kind', 'site');
    await new Promise((later) => setTimeout(later, 800));
    await server.muster('sites', 'create', 'seen');
    await watch.said(/admin: create site seen\n {2}site\/seen/);
    watch.child.kill('SIGINT');
    expect(await watch.ended).toMatchObject({ code: 130, err: '' });
  });

  test('a reader that goes away ends it without a word', async () => {
    const watch = server.startCommand('watch', '--after', '0');
    await watch.said(/^1 /);
    watch.child.stdout?.destroy();
    await server.muster('sites', 'create', 'unseen');
    expect(await watch.ended).toMatchObject({ code: 0, err: '' });
  });
});
