// Every route with wrong input made from its own schemas: it is refused by name, nothing breaks, nothing hangs, and
// nothing is written. FUZZ_SEED replays a run.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tokenIdIn, type Route } from '../../src/access/index.ts';
import { idOf, put } from '../../src/fleet/index.ts';
import { ALARM, alarmId } from '../../src/alarms/index.ts';
import { newOperation, OPERATION } from '../../src/operations/index.ts';
import { hashSecret } from '../../src/api/runtime.ts';
import { SAMPLE_NETWORK, sampleNetwork } from './sample-network.ts';
import { SAMPLE_CLUSTERS, sampleClusters } from './sample-clusters.ts';
import { SAMPLE_NODES, sampleNodes } from './sample-nodes.ts';
import { hostChange, populate, startApiTestServer, type ApiTestServer } from './api-test-server.ts';
import { seeded, wrongRequest } from './wrong-input.ts';

const SEED = Number(process.env['FUZZ_SEED'] ?? 20_260_101);
const PER_ROUTE = 250;
const PATIENCE_MS = 5000;

let world: ApiTestServer;
let secrets: Record<string, string>;

const ids = (route: Route) => (): string => {
  const folder = route.path.split('/')[3] ?? '';
  const named: Record<string, string> = {
    hosts: 'central-0',
    sites: 'north',
    operations: 'op-1',
    alarms: 'code:central',
    settings: 'liveness',
    ...SAMPLE_NETWORK,
    ...SAMPLE_NODES,
    ...SAMPLE_CLUSTERS,
    tokens: tokenIdIn(secrets['victim'] ?? '') ?? '',
  };
  return named[folder] ?? 'x';
};

async function prepare(): Promise<void> {
  world = await startApiTestServer();
  await populate(world);
  secrets = {
    admin: await world.token('admin'),
    victim: await world.token('viewer'),
    agent: await world.token('agent', { host: 'central-1' }),
    join: await world.token('join', { host: 'central-2' }),
    manager: await world.token('manager', { manager: 'm1' }),
  };
  const items = [{ key: 'central-0', target: { kind: 'host', id: 'central-0' }, step: 'await-agent' }];
  const request = { kind: 'host-join', title: 't', by: 'test', site: 'central', nowMs: 1, deadlineMs: 10 ** 12 };
  await world.commit(
    hostChange('central-1', { credential: tokenIdIn(secrets['agent'] ?? '') ?? '' }),
    ...newOperation({ id: idOf(OPERATION, 'op-1'), ...request, items }),
    ...sampleNetwork(),
    ...sampleNodes(),
    ...sampleClusters(),
    put(ALARM, alarmId('code', 'central'), { severity: 'warning', site: 'central', reason: { code: 'x' }, sinceMs: 1 }),
  );
}

const listing = await startApiTestServer();
const routes = listing.server.routes.map((route) => [`${route.method} ${route.path}`, route] as const);
await listing.close();

beforeAll(prepare);
afterAll(() => world.close());

function withTimeout<T>(promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('no answer')), PATIENCE_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** A manager's token speaks for one name: every other one, however wrong, is refused as another manager's. */
function namesOtherManager(body: string): boolean {
  return (JSON.parse(body) as { readonly code?: string }).code === 'other-manager';
}

describe(`wrong input from seed ${SEED}`, () => {
  test.each(routes)(`%s refuses ${PER_ROUTE} wrong requests and stays as it was`, async (key, route) => {
    const random = seeded(SEED + Number.parseInt(hashSecret(key).slice(0, 8), 16));
    const secret = secrets[route.access] ?? secrets['admin'];
    const before = world.journal.fleet.revision;
    const wrong: string[] = [];
    for (let at = 0; at < PER_ROUTE; at += 1) {
      const request = wrongRequest(random, route, ids(route));
      const answer = await withTimeout(world.call(secret, request));
      const shown = `${at}: ${JSON.stringify(request.url).slice(0, 200)} ${JSON.stringify(request.headers)} ${(JSON.stringify(request.payload) ?? '').slice(0, 300)}`;
      if (answer.statusCode < 400 || answer.statusCode >= 500) wrong.push(`${answer.statusCode} for ${shown}`);
      else if (!isProblem(route, answer.headers['content-type'], answer.body))
        wrong.push(`no problem for ${shown}: ${answer.body}`);
      else if ([401, 403].includes(answer.statusCode) && !namesOtherManager(answer.body))
        wrong.push(`${answer.statusCode} hides the input: ${shown}`);
      if (wrong.length > 5) break;
    }
    expect(wrong).toEqual([]);
    expect(world.journal.fleet.revision).toBe(before);
  });
});

function isProblem(route: Route, type: unknown, body: string): boolean {
  return route.dialect === 'restconf' ? isRestconfProblem(type, body) : isNativeProblem(type, body);
}

function isRestconfProblem(type: unknown, body: string): boolean {
  const { 'ietf-restconf:errors': errors } = JSON.parse(body) as Record<string, { error: Record<string, string>[] }>;
  const isComplete = (errors?.error ?? []).every(
    (one) => one['error-tag'] !== undefined && one['error-message'] !== '',
  );
  return type === 'application/yang-data+json; charset=utf-8' && isComplete && !body.includes('    at ');
}

function isNativeProblem(type: unknown, body: string): boolean {
  const { code, detail, status, requestId } = JSON.parse(body) as Record<string, unknown>;
  return (
    type === 'application/problem+json; charset=utf-8' &&
    [code, detail, requestId].every((one) => typeof one === 'string' && one !== '') &&
    typeof status === 'number' &&
    !body.includes('    at ')
  );
}
