// The YANG module under an independent reader, and payloads under the module: what clients send, and what this server answers.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { hostChange, populate, startApiTestServer } from '../api/api-test-server.ts';
import { REQUESTS, type RpcName } from './examples.ts';
import { ensureYanglint } from './install.ts';

const run = promisify(execFile);
const MODULE = new URL('../../src/api/restconf/scalein-api.yang', import.meta.url).pathname;

const yanglint = await ensureYanglint();
const title = yanglint.kind === 'ready' ? 'yang' : `yang: needs yanglint, ${yanglint.reason}`;

/** What yanglint has against a payload; empty when nothing. */
async function lint(type: 'rpc' | 'reply', payload: object, module = MODULE): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-yang-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, 'payload.json');
  await writeFile(path, JSON.stringify(payload));
  return run('yanglint', ['-t', type, module, path]).then(
    ({ stderr }) => stderr,
    (error: unknown) => (error as { readonly stderr: string }).stderr,
  );
}

/** RESTCONF wraps the input and the output of an operation; the validator takes the operation itself. */
function unwrapped(rpc: string, payload: object): object {
  const [inner] = Object.values(payload as Readonly<Record<string, object>>);
  return { [`scalein-api:${rpc}`]: inner };
}

describe.skipIf(yanglint.kind === 'missing' && process.env['CI'] !== 'true')(title, () => {
  test('the-module-is-valid', async () => {
    const { stderr } = await run('yanglint', [MODULE]);
    expect(stderr).toBe('');
  });

  test('a-module-with-a-mistake-is-found', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'muster-yang-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const path = join(folder, 'scalein-api.yang');
    await writeFile(path, 'module scalein-api { yang-version 1.1; namespace "x"; prefix x; leaf a { type strng; } }');
    await expect(run('yanglint', [path])).rejects.toThrow(/strng/);
  });

  test.each(Object.entries(REQUESTS))('the-example-request-is-valid: %s', async (rpc, request) => {
    expect(await lint('rpc', unwrapped(rpc, request))).toBe('');
  });

  test('an-empty-list-is-not-valid', async () => {
    expect(await lint('rpc', { 'scalein-api:scalein-computes-start': {} })).toMatch(/Too few "scalein-node-ids"/);
  });

  test('what-the-server-answers-is-valid', async () => {
    const world = await startApiTestServer();
    onTestFinished(() => world.close());
    await populate(world);
    await world.commit(hostChange('central-1', { connection: { state: 'down', sinceMs: 1 } }));
    const operator = await world.token('operator');
    const call = async (rpc: RpcName, leaf: string, hosts: readonly string[]): Promise<object> => {
      const answer = await world.call(operator, {
        method: 'POST',
        url: `/restconf/operations/scalein-api:${rpc}`,
        headers: { 'content-type': 'application/yang-data+json' },
        payload: JSON.stringify({ 'scalein-api:input': { [leaf]: hosts } }),
      });
      expect(answer.headers['content-type']).toBe('application/yang-data+json; charset=utf-8');
      expect([answer.statusCode, answer.body]).toEqual([200, expect.any(String)]);
      return answer.json<object>();
    };
    const started = await call('scalein-computes-start', 'scalein-node-ids', ['central-0', 'central-1', 'central-0']);
    expect(await lint('reply', unwrapped('scalein-computes-start', started))).toBe('');
    const recovered = await call('scalein-computes-recover', 'recover-node-ids', ['central-0', 'nobody']);
    expect(await lint('reply', unwrapped('scalein-computes-recover', recovered))).toBe('');
    expect(JSON.stringify(recovered)).toMatch(/"node-id":"nobody","result":"unknown"/);
  });
});
