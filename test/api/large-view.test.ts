// A view as large as the fleet over HTTP: it comes in pieces, and is what its digest says.
import { expect, test } from 'vitest';
import { digestOf } from '../../src/agent/protocol/digest.ts';
import { idOf, put } from '../../src/fleet/index.ts';
import { TRANSPORT_ZONE } from '../../src/network/index.ts';
import { idIn } from './every-route.ts';
import { hostChange, populate, startApiTestServer } from './api-test-server.ts';

const PEERS = 700;

interface Given {
  readonly kind: string;
  readonly view: {
    readonly host: string;
    readonly digest: string;
    readonly parts: { readonly peers: readonly object[] };
    readonly tasks: readonly object[];
  };
}

test('a view with many peers', async () => {
  const world = await startApiTestServer();
  await populate(world);
  const agent = await world.token('agent', { host: 'central-0' });
  const tunnel = (nth: number): { readonly tunnelAddress: string } => ({
    tunnelAddress: `10.7.${Math.floor(nth / 250)}.${(nth % 250) + 1}`,
  });
  const others = Array.from({ length: PEERS }, (_, nth) => hostChange(`peer-${nth}`, tunnel(nth + 1)));
  const zone = { name: 'default', mesh: 'full' as const, changedBy: 'test', changedAtMs: 0 };
  await world.commit(put(TRANSPORT_ZONE, idOf(TRANSPORT_ZONE, 'default'), zone));
  await world.commit(hostChange('central-0', { credential: idIn(agent), ...tunnel(0) }), ...others);
  const answer = await world.call(agent, { url: '/api/v1/agent/view?waitMs=0' });
  expect(answer.statusCode).toBe(200);
  expect(answer.headers['content-length']).toBeUndefined();
  const { kind, view } = answer.json<Given>();
  expect(kind).toBe('view');
  expect(view.parts.peers).toHaveLength(PEERS);
  const { host, digest, parts, tasks } = view;
  expect(digestOf({ host, parts, tasks })).toBe(digest);
  // Requested again with the same digest it is the same.
  const again = await world.call(agent, { url: '/api/v1/agent/view?waitMs=0' });
  expect(again.json<Given>().view.digest).toBe(digest);
  await world.close();
});
