// Requests that look at a Kubernetes cluster: one that does not answer, or has too many requests, holds up no other caller, and each caller that waited for it is authorised
// once it has answered.
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { idOf, put } from '../../src/fleet/index.ts';
import { CLUSTER, WORKER } from '../../src/kubernetes/index.ts';
import { hostChange, startApiTestServer, type ApiTestServer } from '../api/api-test-server.ts';
import { idIn } from '../api/every-route.ts';

const open: ApiTestServer[] = [];

afterEach(async () => {
  for (const world of open.splice(0)) await world.close();
});

/** The API of a cluster that takes requests and answers none until it is let go. */
class HangingCluster {
  readonly server: Server;
  readonly #responses: ServerResponse[] = [];

  constructor() {
    this.server = createServer((_, response) => void this.#responses.push(response));
  }

  get held(): number {
    return this.#responses.length;
  }

  /** Every list has `items`; a Node by its name is the first of them, or is not there. */
  answerAll(items: readonly object[]): void {
    for (const response of this.#responses.splice(0)) {
      const isOne = /\/nodes\/./.test(response.req.url ?? '');
      const status = isOne && items.length === 0 ? 404 : 200;
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(isOne ? (items[0] ?? {}) : { kind: 'List', apiVersion: 'v1', metadata: {}, items }));
    }
  }
}

async function started(): Promise<{ world: ApiTestServer; cluster: HangingCluster }> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-looks-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const world = await startApiTestServer({ secretsIn: folder, logLevel: 'warn' });
  open.push(world);
  const cluster = new HangingCluster();
  await new Promise<void>((resolve) => void cluster.server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    cluster.server.closeAllConnections();
    cluster.server.close();
  });
  const { port } = cluster.server.address() as AddressInfo;
  // Not over HTTP: a cluster is looked at before it is registered.
  await world.commit(
    put(CLUSTER, idOf(CLUSTER, 'slow'), {
      ...{ name: 'slow', kind: 'api', endpoint: `http://127.0.0.1:${port}`, state: 'unknown', sinceMs: 1 },
      ...{ reach: 'none', whenHostLeaves: 'drain', drainsAtOnce: 1, changedBy: 'test', changedAtMs: 1 },
      drainPolicy: { deadlineMs: 300_000, evictBare: false, keepEmptyDir: false },
    }),
    hostChange('a'),
    put(WORKER, idOf(WORKER, 'slow.w'), {
      ...{ cluster: 'slow', node: 'w', isAdopted: true, state: 'in-service', stateSinceMs: 1, readiness: 'ready' },
      ...{ readinessSinceMs: 1, createdAtMs: 1, changedBy: 'test', changedAtMs: 1 },
    }),
  );
  return { world, cluster };
}

/** The client is loaded with the first request. */
const ARRIVED = { timeout: 30_000 };

const PREVIEW = { method: 'POST', url: '/api/v1/clusters/slow/workers/preview', payload: { workers: ['w'] } } as const;
const ADOPT = {
  method: 'POST',
  url: '/api/v1/clusters/slow/workers/adopt',
  payload: { nodes: [{ node: 'n' }] },
} as const;
const NODE = {
  metadata: { name: 'n', uid: 'u-1' },
  spec: {},
  status: { conditions: [{ type: 'Ready', status: 'True' }] },
};

const codeOf = ({ body }: { readonly body: string }): unknown => (JSON.parse(body) as { readonly code?: string }).code;

describe('a cluster that does not answer', () => {
  test('gets few requests at once for one token, whose further ones are refused beyond what may wait; others get through', async () => {
    const { world, cluster } = await started();
    const [viewer, other, admin] = [
      await world.token('viewer'),
      await world.token('viewer'),
      await world.token('admin'),
    ];
    const crowd = Array.from({ length: 40 }, () => world.call(viewer, PREVIEW));
    await expect.poll(() => cluster.held, ARRIVED).toBe(2);
    const refused = await Promise.race(crowd);
    expect([refused.statusCode, codeOf(refused)]).toEqual([429, 'too-many-looks']);
    const [others, admins] = [world.call(other, PREVIEW), world.call(admin, PREVIEW)];
    await expect.poll(() => cluster.held, ARRIVED).toBe(4);
    // Plans of what is in the fleet do not wait behind it.
    const plan = { method: 'POST', url: '/api/v1/scale-in/preview', payload: { hosts: ['a'] } } as const;
    expect((await world.call(viewer, plan)).statusCode).toBe(200);
    const done = Promise.all([...crowd, others, admins]);
    const letting = setInterval(() => cluster.answerAll([]), 5);
    onTestFinished(() => clearInterval(letting));
    expect(new Set((await done).map(({ statusCode }) => statusCode))).toEqual(new Set([200, 429]));
  });

  test('never: Nodes are adopted for a token that is revoked while the cluster is waited for', async () => {
    const { world, cluster } = await started();
    const operator = await world.token('operator');
    const adopting = world.call(operator, ADOPT);
    await expect.poll(() => cluster.held, ARRIVED).toBe(1);
    const revoking = { method: 'DELETE', url: `/api/v1/tokens/${idIn(operator)}` } as const;
    expect((await world.call(await world.token('admin'), revoking)).statusCode).toBe(200);
    const { revision } = world.journal.fleet;
    cluster.answerAll([NODE]);
    const answered = await adopting;
    expect([answered.statusCode, codeOf(answered)]).toEqual([401, 'token-revoked']);
    expect(world.journal.fleet.revision).toBe(revision);
  });

  test('never: Nodes are adopted into a cluster that came to another site while it was waited for', async () => {
    const { world, cluster } = await started();
    const stored = world.journal.fleet.get(CLUSTER, idOf(CLUSTER, 'slow'));
    if (stored === undefined) throw new Error('there is no such cluster');
    await world.commit(put(CLUSTER, stored.id, { ...stored.doc, site: 'central' }));
    const bound = await world.token('operator', { site: 'central' });
    const adopting = world.call(bound, ADOPT);
    await expect.poll(() => cluster.held, ARRIVED).toBe(1);
    await world.commit(put(CLUSTER, stored.id, { ...stored.doc, site: 'north' }));
    cluster.answerAll([NODE]);
    const answered = await adopting;
    expect([answered.statusCode, codeOf(answered)]).toEqual([404, 'cluster-not-found']);
    expect(world.journal.fleet.get(WORKER, idOf(WORKER, 'slow.n'))).toBeUndefined();
  });

  test('a repeated adoption with its key is answered as the first, and the cluster gets no second request', async () => {
    const { world, cluster } = await started();
    const operator = await world.token('operator');
    const request = { ...ADOPT, headers: { 'idempotency-key': 'k' } };
    const adopting = world.call(operator, request);
    await expect.poll(() => cluster.held, ARRIVED).toBe(1);
    cluster.answerAll([NODE]);
    const first = await adopting;
    expect([first.statusCode, first.json()]).toEqual([201, { workers: ['slow.n'] }]);
    const again = await world.call(operator, request);
    expect([again.statusCode, again.json(), again.headers['idempotency-replayed']]).toEqual([
      201,
      first.json(),
      'true',
    ]);
    expect(cluster.held).toBe(0);
  });
});
