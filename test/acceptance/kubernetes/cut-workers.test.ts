// What would cut a worker off by its instance is refused, and the refusal names the right command; what is forced is done, and kept with the worker.
import { describe, expect, test } from 'vitest';
import { HttpApi } from '../scale-in/http-fixture.ts';
import { LeavingWorkers } from './leaving-workers-fixture.ts';

const PODS = { replicas: 4, minAvailable: 2 };

interface Requests {
  readonly edge: LeavingWorkers;
  readonly http: HttpApi;
}

async function start(cluster = {}): Promise<Requests> {
  const edge = await LeavingWorkers.start({ workers: ['a', 'b'], pods: PODS, cluster });
  return { edge, http: await HttpApi.start(edge.world) };
}

type Request = (http: HttpApi, force: boolean) => ReturnType<HttpApi['post']>;

const body = (force: boolean) => (force ? { force } : {});
const REQUESTS: Readonly<Record<string, Request>> = {
  delete: (http, force) => http.delete(`/api/v1/instances/w1${force ? '?force=true' : ''}`),
  move: (http, force) => http.post('/api/v1/instances/w1/move', body(force)),
  shelve: (http, force) => http.post('/api/v1/instances/w1/shelve', body(force)),
};

describe('the instance of a worker', () => {
  test.each([
    ['delete', 'muster workers remove node-1 --cluster edge'],
    ['move', 'muster workers drain node-1 --cluster edge'],
    ['shelve', 'muster workers remove node-1 --cluster edge'],
  ])('%s is refused, and the right command is named: %s', async (verb, command) => {
    const { edge, http } = await start();
    const before = edge.world.fleet.revision;
    const answer = await REQUESTS[verb]?.(http, false);
    expect(answer).toMatchObject({ status: 409, body: { code: 'instance-runs-worker' } });
    expect(JSON.stringify(answer?.body)).toContain(command);
    expect(edge.world.fleet.revision).toBe(before);
  });

  test.each(['delete', 'move', 'shelve'])('%s is done when it is forced', async (verb) => {
    const { edge, http } = await start();
    expect(await REQUESTS[verb]?.(http, true)).toMatchObject({ status: 202 });
    expect(edge.worker(1).forced).toMatchObject({ disruption: verb, by: 'admin' });
    await edge.world.clock.pass(60_000);
  });

  test('a-deletion-that-is-forced leaves a worker without an instance, which can be removed', async () => {
    const { edge, http } = await start();
    await REQUESTS['delete']?.(http, true);
    await edge.world.until('it is gone', () => !edge.world.hasInstance('w1'));
    expect(edge.worker(1)).not.toHaveProperty('instance');
    expect(await http.post('/api/v1/clusters/edge/workers/remove', { workers: ['node-1'] })).toMatchObject({
      status: 202,
    });
    await edge.world.until('the Node is gone', () => !edge.hasNode(1));
  });

  test('others-are-not-checked: an instance that is no worker is moved as ever', async () => {
    const { edge, http } = await start();
    await edge.world.place('web', 'a');
    expect(await http.post('/api/v1/instances/web/move', {})).toMatchObject({ status: 202 });
  });

  test('drained-it-may-move, and where workers move as they are', async () => {
    const { edge, http } = await start();
    await http.post('/api/v1/clusters/edge/workers/drain', { workers: ['node-1'] });
    await edge.world.until(
      'it is drained',
      () => edge.worker(1).state === 'drained' && edge.worker(1).work === undefined,
    );
    expect(await REQUESTS['move']?.(http, false)).toMatchObject({ status: 202 });
    const moves = await start({ whenHostLeaves: 'move' });
    expect(await REQUESTS['move']?.(moves.http, false)).toMatchObject({ status: 202 });
  });

  test('a-removal-of-the-worker takes its instance with it', async () => {
    const { edge, http } = await start();
    await http.post('/api/v1/clusters/edge/workers/remove', { workers: ['node-1'] });
    await edge.world.until('both are gone', () => !edge.world.hasInstance('w1') && !edge.hasNode(1));
  });

  test('a-cluster-with-workers-is-not-forgotten, and an instance is one worker', async () => {
    const { http } = await start();
    expect(await http.delete('/api/v1/clusters/edge')).toMatchObject({ status: 409, body: { code: 'cluster-in-use' } });
  });
});
