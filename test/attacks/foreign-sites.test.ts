// Never: a caller that is bound to one site learns anything of another. Everything of a hidden site has a marker; every GET of the
// route table, every preview and the refusals of every write are requested with tokens of another site.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Route } from '../../src/access/index.ts';
import { keyOf, prepareServer, requestFor, type PreparedServer } from '../api/every-route.ts';
import { FAR_IP, HIDDEN_SITE, MARKER, plantMarkers, TRACES } from './foreign-fleet.ts';
import { beginAsAgent, recordAsAgent } from './machine-work.ts';

let prepared: PreparedServer;
const secrets = new Map<string, string>();

beforeAll(async () => {
  prepared = await prepareServer();
  await plantMarkers(prepared.world);
  // Moves crossed sites: agents of both have written to what is in this one now.
  const arrived = { instances: ['vm-1', 'vm-arrived'], ports: ['port-1'] };
  for (const host of [`${MARKER}-host-1`, 'central-1']) await recordAsAgent(prepared.world, host, arrived);
  for (const role of ['viewer', 'operator', 'admin'] as const) {
    secrets.set(role, await prepared.world.token(role, { site: 'central' }));
  }
  secrets.set('hidden', await prepared.world.token('operator', { site: HIDDEN_SITE }));
});
afterAll(() => prepared.world.close());

/** What else is named in paths than the route table does: everything of the caller's site that has been in touch with the other. */
const ALSO: Readonly<Record<string, readonly string[]>> = {
  hosts: ['central-0', 'central-1', 'central-2'],
  operations: ['op-move', 'op-drain', 'op-failed'],
  instances: ['vm-1', 'vm-leaving', 'vm-failed', 'vm-arrived'],
  alarms: ['near:central'],
  nodes: ['node-near'],
  reservations: ['reserved-near', 'failed-near'],
  clusters: ['edge'],
  workers: ['edge.worker-far'],
  'drain-reports': ['edge.worker-far'],
};

function urlsOf(route: Route): string[] {
  const url = requestFor(route, prepared.token).url as string;
  const folder = route.path.split('/')[3] ?? '';
  if (!route.path.includes('/:id')) return [url];
  const ids = ALSO[folder] ?? [];
  return [url, ...ids.map((id) => route.path.replace(':id', id))];
}

const tracesIn = (text: string): string[] => TRACES.filter((trace) => text.includes(trace));

async function textOf(secret: string, url: string, route: Route): Promise<string> {
  if (route.kind !== 'stream') return (await prepared.world.call(secret, { url })).body;
  const answer = await prepared.world.call(secret, { url: `${url}?after=0`, payloadAsStream: true });
  if (answer.statusCode !== 200) return '';
  let text = '';
  const last = `id: ${prepared.world.journal.fleet.revision}.`;
  for await (const chunk of answer.stream()) {
    text += String(chunk);
    if (text.includes(last)) break;
  }
  return text;
}

const LISTS = ['', '?limit=1000', '?sort=-id'];

describe('never: a caller of one site sees another', () => {
  test('by any GET of the route table', async () => {
    const leaks: string[] = [];
    let answered = 0;
    for (const route of prepared.world.server.routes.filter(({ method }) => method === 'GET')) {
      for (const url of urlsOf(route)) {
        for (const role of ['viewer', 'operator', 'admin']) {
          const text = await textOf(secrets.get(role) ?? '', url, route);
          answered += text.includes('"code":"site-bound"') || text.includes('role-insufficient') ? 0 : 1;
          leaks.push(...tracesIn(text).map((trace) => `${role}: GET ${url} tells ${trace}: ${around(text, trace)}`));
        }
      }
    }
    expect(leaks).toEqual([]);
    expect(answered).toBeGreaterThan(100);
  });

  test('by filters, sorts and the history of a resource', async () => {
    const leaks: string[] = [];
    const urls = [
      ...[
        'hosts',
        'instances',
        'ports',
        'operations',
        'operation-items',
        'alarms',
        'sites',
        'nodes',
        'clusters',
        'workers',
        'drain-reports',
      ].flatMap((what) => LISTS.map((query) => `/api/v1/${what}${query}`)),
      '/api/v1/history?kind=instance&id=vm-failed',
      '/api/v1/history?kind=instance&id=vm-arrived',
      '/api/v1/history?kind=item&id=op-move.vm-leaving',
      '/api/v1/hosts/central-0/dataplane?limit=20000',
      '/api/v1/hosts/central-1/tenants?limit=1000',
    ];
    for (const url of urls) {
      const { body, statusCode } = await prepared.world.call(secrets.get('operator'), { url });
      if (statusCode !== 200) leaks.push(`${url}: ${statusCode}`);
      leaks.push(...tracesIn(body).map((trace) => `${url} tells ${trace}: ${around(body, trace)}`));
    }
    expect(leaks).toEqual([]);
  });

  test('by a filter that names an author who is hidden', async () => {
    await beginAsAgent(prepared.world, `${MARKER}-host-1`);
    const list = async (secret: string | undefined, by: string): Promise<number> => {
      const url = `/api/v1/operations?by=${encodeURIComponent(by)}`;
      return (await prepared.world.call(secret, { url })).json<{ items: unknown[] }>().items.length;
    };
    const author = `agent/${MARKER}-host-1`;
    expect(await list(prepared.secrets.get('admin'), author)).toBe(1);
    expect(await list(secrets.get('operator'), author)).toBe(0);
    expect(await list(secrets.get('operator'), 'agent/(hidden)')).toBe(1);
  });

  test('by any preview', async () => {
    const leaks: string[] = [];
    const previews = [
      ...['central-0', 'central-1', 'central-2'].map(
        (host) => ['/api/v1/scale-in/preview', { hosts: [host] }] as const,
      ),
      ['/api/v1/scale-in/preview', { hosts: ['central-0', 'central-1'], limit: 10_000 }],
      ['/api/v1/instances/preview', { flavor: 'small', networks: 'none', count: 90 }],
      ['/api/v1/instances/preview', { flavor: 'small', networks: [{ network: 'lan' }], requiredTraits: ['none'] }],
    ] as const;
    for (const [url, payload] of previews) {
      for (const role of ['viewer', 'operator', 'admin']) {
        const { body, statusCode } = await prepared.world.call(secrets.get(role), { method: 'POST', url, payload });
        expect([url, payload, statusCode, statusCode === 200 ? '' : body]).toEqual([url, payload, 200, '']);
        leaks.push(...tracesIn(body).map((trace) => `${url} tells ${trace}: ${around(body, trace)}`));
      }
    }
    expect(leaks).toEqual([]);
  });

  test('by what it is refused', async () => {
    const leaks: string[] = [];
    const wanted = [
      ['/api/v1/instances', { name: 'a', flavor: 'small', networks: [{ network: 'lan', fixedIp: FAR_IP }] }],
      ['/api/v1/instances', { name: 'a', flavor: 'small', networks: [{ port: 'port-1' }] }],
      ['/api/v1/instances', { name: 'a', flavor: 'small', networks: 'none', count: 90 }],
      ['/api/v1/instances/vm-leaving/move', {}],
      ['/api/v1/instances/vm-leaving/rebuild', {}],
      ['/api/v1/instances/vm-leaving/shelve', {}],
      ['/api/v1/hosts', { hosts: [{ name: 'new', tunnelAddress: '192.0.2.177' }] }],
      ['/api/v1/scale-out', { hosts: [{ name: 'new', tunnelAddress: '192.0.2.177' }] }],
      ['/api/v1/scale-in/end', { hosts: ['central-1'] }],
      ['/api/v1/scale-in/recover', { hosts: ['central-2'] }],
      ['/restconf/operations/scalein-api:scalein-computes-end', { input: { 'scalein-node-ids': ['central-1'] } }],
    ] as const;
    for (const [url, payload] of wanted) {
      const { body } = await prepared.world.call(secrets.get('operator'), { method: 'POST', url, payload });
      const payloadText = JSON.stringify(payload);
      const traces = tracesIn(body).filter((trace) => !payloadText.includes(trace));
      leaks.push(...traces.map((trace) => `${url} tells ${trace}: ${around(body, trace)}`));
    }
    expect(leaks).toEqual([]);
  });
});

test('an-agent-of-the-own-site-is-named, and one of another is not', async () => {
  const url = '/api/v1/history?kind=instance&id=vm-arrived';
  const { body } = await prepared.world.call(secrets.get('viewer'), { url });
  for (const author of ['agent/(hidden)', 'agent/central-1', 'join (hidden)', 'manager/(hidden)'])
    expect(body).toContain(`"by":"${author}"`);
});

test('the-marker-is-there-for-whoever-may-see-it', async () => {
  const admin = await prepared.world.token('admin');
  for (const url of ['/api/v1/hosts', '/api/v1/history', '/api/v1/instances/vm-leaving', '/api/v1/alarms']) {
    expect(tracesIn((await prepared.world.call(admin, { url })).body)).toContain(MARKER);
  }
  const hidden = secrets.get('hidden');
  expect(tracesIn((await prepared.world.call(hidden, { url: '/api/v1/instances' })).body)).toContain(MARKER);
});

test('what-a-caller-calls-its-own-is-shown-as-it-is, also when others have the same name', async () => {
  const operator = secrets.get('operator');
  const { hash: _, ...body } = { hash: '', reason: `as ${MARKER}-host-1 was` };
  const disabled = { method: 'POST', url: '/api/v1/hosts/central-0/disable', payload: body } as const;
  expect((await prepared.world.call(operator, disabled)).statusCode).toBe(200);
  const history = await prepared.world.call(operator, { url: '/api/v1/history?kind=host&id=central-0&limit=1' });
  // Whether a name exists elsewhere cannot be found out by writing it down.
  expect(history.body).toContain(`as ${MARKER}-host-1 was`);
});

const around = (text: string, trace: string): string =>
  text.slice(Math.max(0, text.indexOf(trace) - 80), text.indexOf(trace) + 40);

test('every-route-of-the-table-is-called', () => {
  expect(prepared.world.server.routes.map(keyOf).length).toBeGreaterThan(100);
});
