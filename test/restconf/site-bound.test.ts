// The RESTCONF operations for a token of one site: they have their effect on its own hosts, and hosts of other sites are unknown to it.
import { expect, onTestFinished, test } from 'vitest';
import { idOf } from '../../src/fleet/index.ts';
import { HOST } from '../../src/hosts/index.ts';
import { hostChange, populate, startApiTestServer, type ApiTestServer } from '../api/api-test-server.ts';

const LEAVES = { start: 'scalein-node-ids', end: 'scalein-node-ids', recover: 'recover-node-ids' } as const;
const BRIDGE = 'b8f2c6f0-5f0e-4b1c-9a3e-0c2d4e6f8a10';
const LEAVING = { operation: 'op-earlier', drain: true, by: 'test', atMs: 1 };

interface Answer {
  readonly status: number;
  readonly results: readonly { readonly 'node-id': string; readonly result: string; readonly reason?: string }[];
  readonly errors: readonly Readonly<Record<string, string>>[];
}

interface SiteWorld extends ApiTestServer {
  ask(rpc: keyof typeof LEAVES, ...nodes: readonly string[]): Promise<Answer>;
  stateOf(host: string): string | undefined;
}

async function prepared(): Promise<SiteWorld> {
  const world = await startApiTestServer();
  onTestFinished(() => world.close());
  await populate(world);
  await world.commit(
    hostChange('north-0', { site: 'north', switch: { datapathId: 'fedcba9876543210', bridge: BRIDGE } }),
  );
  const north = await world.token('operator', { site: 'north' });
  return {
    ...world,
    stateOf: (host) => world.journal.fleet.get(HOST, idOf(HOST, host))?.doc.state,
    ask: async (rpc, ...nodes) => {
      const answer = await world.call(north, {
        method: 'POST',
        url: `/restconf/operations/scalein-api:scalein-computes-${rpc}`,
        headers: { 'content-type': 'application/yang-data+json' },
        payload: JSON.stringify({ input: { [LEAVES[rpc]]: nodes } }),
      });
      const body = answer.json<{
        readonly 'scalein-api:output'?: { readonly 'host-result': Answer['results'] };
        readonly 'ietf-restconf:errors'?: { readonly error: Answer['errors'] };
      }>();
      return {
        status: answer.statusCode,
        results: body['scalein-api:output']?.['host-result'] ?? [],
        errors: body['ietf-restconf:errors']?.error ?? [],
      };
    },
  };
}

test('start-recover-and-end-have-their-effect-on-its-own-hosts, by any of their ids', async () => {
  const world = await prepared();
  const started = await world.ask('start', `ovsdb://uuid/${BRIDGE}/bridge/br-int`, 'north-1');
  expect(started).toMatchObject({ status: 200, results: [{ result: 'accepted' }, { result: 'accepted' }] });
  expect(['north-0', 'north-1', 'north-2', 'central-0'].map(world.stateOf)).toEqual([
    'draining',
    'draining',
    'active',
    'active',
  ]);
  expect(await world.ask('recover', 'north-1')).toMatchObject({ status: 200, results: [{ result: 'accepted' }] });
  expect(world.stateOf('north-1')).toBe('recovering');
  // As it is once nothing lives there and its agent is gone.
  const empty = {
    site: 'north',
    state: 'drained',
    leaving: LEAVING,
    connection: { state: 'down', sinceMs: 1 },
  } as const;
  await world.commit(hostChange('north-0', empty));
  expect(await world.ask('end', 'north-0')).toMatchObject({
    status: 200,
    results: [{ 'node-id': 'north-0', result: 'accepted' }],
  });
  expect(['finalizing', 'removed']).toContain(world.stateOf('north-0'));
});

test('a-start-that-names-a-foreign-host-as-well-is-refused-for-that-one, and nothing is marked', async () => {
  const world = await prepared();
  const before = world.journal.fleet.revision;
  const { status, errors } = await world.ask('start', 'north-1', 'central-0');
  expect(status).toBe(404);
  const [request, ...nodes] = errors;
  expect(request).toMatchObject({
    'error-app-tag': 'unknown-host',
    'error-path': '/scalein-api:input/scalein-node-ids',
  });
  expect(nodes).toEqual([
    expect.objectContaining({
      'error-app-tag': 'unknown-host',
      'error-tag': 'invalid-value',
      'error-path': "/scalein-api:input/scalein-node-ids[.='central-0']",
      'error-message': 'central-0: There is no host "central-0". List them with "muster hosts list".',
    }),
  ]);
  expect(world.journal.fleet.revision).toBe(before);
  expect(['north-1', 'central-0'].map(world.stateOf)).toEqual(['active', 'active']);
});

test('end-and-recover-act-on-its-own-hosts-alone, and a foreign one is as unknown as none', async () => {
  const world = await prepared();
  const leaving = { state: 'draining', leaving: LEAVING } as const;
  await world.commit(
    hostChange('north-1', { site: 'north', ...leaving }),
    hostChange('central-1', { site: 'central', ...leaving }),
  );
  const recovered = await world.ask('recover', 'north-1', 'central-1', 'nope');
  expect(recovered.status).toBe(200);
  expect(recovered.results).toEqual([
    { 'node-id': 'north-1', name: 'north-1', result: 'accepted' },
    { 'node-id': 'central-1', result: 'unknown', reason: expect.stringContaining('no host "central-1"') as string },
    { 'node-id': 'nope', result: 'unknown', reason: expect.stringContaining('no host "nope"') as string },
  ]);
  expect(['north-1', 'central-1'].map(world.stateOf)).toEqual(['recovering', 'draining']);
  const revision = world.journal.fleet.revision;
  expect(await world.ask('end', 'central-1')).toMatchObject({
    status: 404,
    errors: [{ 'error-app-tag': 'unknown-host' }, {}],
  });
  expect(world.journal.fleet.revision).toBe(revision);
});
