// --wait, on a server whose simulated hosts come into service by themselves.
import { afterAll, describe, expect, test } from 'vitest';
import { serverForFile } from './muster.ts';

// Hosts that are joined here get a simulated agent a few seconds later.
const server = await serverForFile(afterAll, '--demo', '1');

describe('waiting for an operation', () => {
  test('plain lines tell of waits with their reasons, and the end is the result', async () => {
    const { code, out, err } = await server.muster('hosts', 'join', 'w1', 'w2', '--wait');
    expect(code).toBe(0);
    expect(out).toMatch(/^op-\w+ succeeded: join 2 hosts, 2\/2 done\.\n$/);
    expect(err).toMatch(/^op-\w+ running: 0\/2 done, 2 waiting\n {2}w1 waiting: Host w1 has no agent yet\./m);
    expect(err).toMatch(/op-\w+ succeeded: 2\/2 done\n$/);
    expect(await server.json('hosts', 'list', '--state', 'active')).toMatchObject([
      { name: 'compute-1' },
      { name: 'w1' },
      { name: 'w2' },
    ]);
  });

  test('programs get the operation as it ended', async () => {
    expect(await server.json('hosts', 'join', 'w3', '--wait')).toMatchObject({
      state: 'succeeded',
      counts: { done: 1, waiting: 0 },
    });
  });

  test('--timeout ends the waiting with 5, not the operation', async () => {
    const { code, out, err } = await server.muster('hosts', 'join', 'w4', '--wait', '--timeout', '300ms');
    expect({ code, out }).toEqual({ code: 5, out: '' });
    const [, id = ''] =
      /The operation (op-\w+) is still running and goes on\. Look at it again with: muster operations wait/.exec(err) ??
      [];
    expect(await server.muster('operations', 'wait', id, '--timeout', '1m')).toMatchObject({ code: 0 });
  });

  test('Ctrl-C leaves the operation running and says how to look at it again', async () => {
    const waiting = server.startCommand('hosts', 'join', 'w5', '--wait');
    const [, id = ''] = await waiting.said(/(op-\w+) running: 0\/1 done, 1 waiting/);
    waiting.child.kill('SIGINT');
    const { code, err } = await waiting.ended;
    expect(code).toBe(130);
    expect(err).toContain(`The operation ${id} goes on. Look at it again with: muster operations wait ${id}`);
    expect(await server.muster('operations', 'wait', id)).toMatchObject({ code: 0 });
  });

  test('an operation that fails is 4, and can be retried', async () => {
    const failing = await server.muster('hosts', 'join', 'w6', '--deadline', '1s', '--wait');
    expect(failing.code).toBe(4);
    expect(failing.out).toMatch(/^op-\w+ failed: join host w6, 0\/1 done, 1 failed\./);
    const [id = ''] = /op-\w+/.exec(failing.out) ?? [];
    expect(failing.err).toContain(`See which and why with: muster operations show ${id}`);
    const shown = await server.muster('operations', 'show', id, '--state', 'failed');
    expect(shown.out).toMatch(/host\/w6 +failed .* The deadline has passed/);
    // Its agent has come meanwhile; a second is enough for the rest, or the next one.
    const retried = await server.muster('operations', 'retry', id, '--wait');
    expect([0, 4]).toContain(retried.code);
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
  test('Ctrl-C ends it with 130, after what was told', async () => {
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
