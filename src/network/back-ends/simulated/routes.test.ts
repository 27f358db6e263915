// The simulated network over HTTP, at the level of its handlers: armed faults apply, and calls are listed.
import { describe, expect, test } from 'vitest';
import type { HandlerResult, Call, Route, RouteContext } from '../../../access/index.ts';
import { networkEventRoutes } from '../../ports/event-routes.ts';
import { simulatedNetworkRoutes } from './routes.ts';
import { outcomes, world } from './world-fixture.ts';

const ROOT = '/api/v1/simulated-network';

function startSurface() {
  const simulated = world();
  const routes = simulatedNetworkRoutes(simulated.network);
  const call = async (method: string, path: string, input: Partial<Call> = {}): Promise<HandlerResult> => {
    const route = routes.find((one) => one.method === method && one.path === `${ROOT}/${path}`);
    if (route?.kind !== 'read') throw new Error(`there is no ${method} ${path}`);
    return route.handle({ params: {}, query: {}, body: {}, ...input } as Call, {} as RouteContext);
  };
  return { ...simulated, routes, call };
}

describe('the simulated network over HTTP', () => {
  test('only-administrators-reach-it-and-only-at-the-deciding-server', () => {
    const faces = startSurface().routes.map(({ access, onFollower }: Route) => ({ access, elsewhere: onFollower }));
    expect(faces).toHaveLength(6);
    expect(new Set(faces.map((face) => JSON.stringify(face)))).toEqual(
      new Set(['{"access":"admin","elsewhere":"forward"}']),
    );
  });

  test('faults-are-armed-listed-and-disarmed', async () => {
    const { call, create, bind } = startSurface();
    const body = { op: 'bind', host: 'h1', outcome: 'binding-failed', times: 2 };
    const armed = { ...body, id: 1, delayMs: 0 };
    expect(await call('POST', 'faults', { body })).toEqual({ kind: 'answer', status: 201, body: armed });
    expect(await call('GET', 'faults')).toMatchObject({ body: { items: [armed] } });
    await create([{}]);
    expect(outcomes(await bind('h1', [{}]))).toEqual(['binding-failed']);
    expect(await call('GET', 'faults')).toMatchObject({ body: { items: [{ ...armed, times: 1 }] } });
    expect(await call('DELETE', 'faults')).toMatchObject({ status: 200, body: { items: [] } });
    expect(outcomes(await bind('h1', [{}]))).toEqual(['ok']);
  });

  test('a-fault-that-cannot-be-is-refused', async () => {
    const refused = await startSurface().call('POST', 'faults', { body: { op: 'spawn', outcome: 'pool-empty' } });
    expect(refused).toMatchObject({ kind: 'refuse', refusal: { code: 'outcome-not-possible', field: '/outcome' } });
  });

  test('calls-are-listed', async () => {
    const { call, create, bind } = startSurface();
    await create([{}]);
    await bind('h1', [{}]);
    const listed = await call('GET', 'calls', { query: { after: 1, instance: 'web' } });
    expect(listed).toMatchObject({ body: { items: [{ nth: 2, op: 'bind', port: 'p0', host: 'h1', serial: 1 }] } });
  });

  test('events-are-switched', async () => {
    const { call, create, bind, reports } = startSurface();
    await create([{}]);
    expect(await call('GET', 'events')).toMatchObject({ body: { enabled: true } });
    expect(await call('PUT', 'events', { body: { enabled: false } })).toMatchObject({ body: { enabled: false } });
    expect(await call('GET', 'events')).toMatchObject({ status: 200, body: { enabled: false } });
    await bind('h1', [{}]);
    expect(reports).toEqual([]);
    await call('PUT', 'events', { body: { enabled: true } });
    await bind('h1', [{}]);
    expect(reports).toHaveLength(1);
  });
});

test('network-events-are-told-by-operators-and-read-by-viewers', () => {
  expect(networkEventRoutes.map(({ method, path, access, kind }) => [method, path, access, kind])).toEqual([
    ['GET', '/api/v1/network-events', 'viewer', 'read'],
    ['POST', '/api/v1/network-events', 'operator', 'write'],
  ]);
});
