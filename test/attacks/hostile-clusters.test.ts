// A Kubernetes API that was taken over, or is none: whatever it answers, the control plane neither breaks, nor waits for ever, nor goes where it is led. What cannot
// be understood is an API that does not answer.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ApiClient } from '../../src/kubernetes/runtime.ts';

type Answering = (request: IncomingMessage, response: ServerResponse) => void;

let server: Server;
let answering: Answering;
const others: Server[] = [];
const how = { signal: new AbortController().signal };

async function listen(handler: Answering): Promise<[Server, string]> {
  const made = createServer(handler);
  made.listen(0, '127.0.0.1');
  await once(made, 'listening');
  return [made, `http://127.0.0.1:${(made.address() as AddressInfo).port}`];
}

let endpoint: string;
beforeEach(async () => {
  [server, endpoint] = await listen((request, response) => answering(request, response));
});
afterEach(() => {
  for (const one of [server, ...others.splice(0)]) {
    one.close();
    one.closeAllConnections();
  }
});

const api = () => new ApiClient({ name: 'edge', endpoint });
const json = (body: unknown, status = 200): Answering => {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return (_, response) => response.writeHead(status, { 'content-type': 'application/json' }).end(text);
};
const UNREACHABLE = { code: 'cluster-unreachable' };

describe('a list of Nodes', () => {
  test.each([
    ['that is empty', { items: [] }],
    ['that is null, as Go writes an empty one', { items: null }],
  ])('%s is empty', async (_, body) => {
    answering = json(body);
    expect(await api().listNodes(how)).toEqual([]);
  });

  test.each<[string, unknown]>([
    ['a number', 5],
    ['a text', '"nodes"'],
    ['null', null],
    ['a list that is left out', {}],
    ['null Nodes', { items: [null] }],
    ['Nodes that are texts', { items: 'abc' }],
    ['names that are objects', { items: [{ metadata: { name: { a: 1 } } }] }],
    ['names without end', { items: [{ metadata: { name: 'x'.repeat(254) } }] }],
    ['identities without end', { items: [{ metadata: { name: 'a', uid: 'x'.repeat(101) } }] }],
    ['conditions that are none', { items: [{ metadata: { name: 'a' }, status: { conditions: [null] } }] }],
    ['no JSON', '{"items": ['],
    ['a page', '<html>welcome</html>'],
    ['lists in lists', `{"items": ${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
  ])('%s is not understood: an API that does not answer', async (_, body) => {
    answering = json(body);
    await expect(api().listNodes(how)).rejects.toMatchObject(UNREACHABLE);
  });

  test('whose-pages-never-end is no list', async () => {
    let pages = 0;
    answering = (request, response) => {
      pages += 1;
      json({ items: [], metadata: { continue: `page-${pages}` } })(request, response);
    };
    await expect(api().listNodes(how)).rejects.toMatchObject(UNREACHABLE);
    expect(pages).toBeLessThanOrEqual(1000);
  });

  test('of-a-hundred-thousand-in-one-page is no list', async () => {
    answering = json({
      items: Array.from({ length: 100_000 }, (_, nth) => ({ metadata: { name: `n${nth}`, uid: 'u' } })),
    });
    await expect(api().listNodes(how)).rejects.toMatchObject(UNREACHABLE);
  });

  test('whose-page-expires-each-time is no list', async () => {
    answering = json({ code: 410, reason: 'Expired' }, 410);
    await expect(api().listNodes(how)).rejects.toMatchObject(UNREACHABLE);
  });

  test('with-fields-that-are-null is read as one without them', async () => {
    const metadata = {
      name: 'a',
      uid: 'u',
      resourceVersion: null,
      labels: null,
      annotations: null,
      deletionTimestamp: null,
    };
    answering = json({ items: [{ metadata, spec: null, status: null }] });
    expect(await api().listNodes(how)).toMatchObject([{ name: 'a', readiness: 'unknown', isUnschedulable: false }]);
  });
});

test('an-answer-without-end is cut off', async () => {
  const part = Buffer.alloc(1024 * 1024, 0x20);
  let sent = 0;
  answering = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const pour = (): void => {
      let takes = true;
      for (; takes && !response.destroyed; sent += 1) takes = response.write(part);
    };
    response.on('drain', pour);
    pour();
  };
  await expect(api().listNodes(how)).rejects.toMatchObject({
    ...UNREACHABLE,
    message: expect.stringContaining('64 MiB') as string,
  });
  expect(sent).toBeLessThan(200);
});

test('an-answer-that-drips ends with the call', async () => {
  answering = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{');
  };
  const limit = new AbortController();
  const listed = api().listNodes({ signal: limit.signal });
  await once(server, 'request');
  limit.abort(new Error('the operation was cancelled'));
  await expect(listed).rejects.toThrow('the operation was cancelled');
});

test.each([301, 302, 303, 307, 308])('a redirect (%i) leads nowhere', async (status) => {
  const visits: string[] = [];
  const [other, elsewhere] = await listen((request, response) => {
    visits.push(request.url ?? '');
    json({ items: [] })(request, response);
  });
  others.push(other);
  answering = (_, response) => response.writeHead(status, { location: `${elsewhere}/latest/meta-data` }).end();
  await expect(api().listNodes(how)).rejects.toMatchObject({ code: 'cluster-refused', status });
  expect(visits).toEqual([]);
});

test.each([
  ['a message without end', { message: 'x'.repeat(1_000_000) }],
  ['a message that is none', { message: { a: 1 } }],
  ['causes that are none', { message: 'no', details: { causes: [null, 5, { message: {} }] } }],
  ['details that are none', { message: 'no', details: 'no' }],
])('an error with %s is a refusal, in few words', async (_, body) => {
  answering = json({ code: 403, ...body }, 403);
  const refused = await api()
    .evict({ namespace: 'default', name: 'web-0', uid: 'u' }, how)
    .catch((error: unknown) => error as Error);
  expect(refused).toMatchObject({ code: 'cluster-refused', status: 403 });
  expect((refused as Error).message.length).toBeLessThanOrEqual(1000);
});

describe('what is on a Node', () => {
  const POD = { metadata: { name: 'web-0', namespace: 'default', uid: 'u' }, spec: {}, status: {} };

  const contents =
    (pods: unknown, budgets: unknown): Answering =>
    (request, response) => {
      const path = request.url ?? '';
      const body = path.includes('/poddisruptionbudgets')
        ? budgets
        : path.includes('/pods')
          ? pods
          : { metadata: { name: 'a', uid: 'u' } };
      json(body)(request, response);
    };

  test('ten-thousand-pods are read, page by page', async () => {
    const PODS = 10_000;
    answering = (request, response) => {
      const query = new URL(request.url ?? '', endpoint).searchParams;
      const [from, limit] = [Number(query.get('continue') ?? 0), Number(query.get('limit'))];
      const items = Array.from({ length: Math.min(limit, PODS - from) }, (_, nth) => ({
        ...POD,
        metadata: { ...POD.metadata, name: `web-${from + nth}` },
      }));
      const next = from + items.length;
      const page = { items, metadata: next < PODS ? { continue: String(next) } : {} };
      contents(page, { items: [] })(request, response);
    };
    const { pods } = await api().readContents('a', how);
    expect(pods).toHaveLength(PODS);
  });

  test.each<[string, unknown]>([
    ['budgets that are texts', { items: 'x' }],
    ['budgets that are null', { items: [null] }],
    [
      'selectors that are texts',
      { items: [{ metadata: { name: 'b' }, spec: { selector: { matchExpressions: 'x' } } }] },
    ],
  ])('%s are not understood', async (_, budgets) => {
    answering = contents({ items: [POD] }, budgets);
    await expect(api().readContents('a', how)).rejects.toMatchObject(UNREACHABLE);
  });

  test('a-budget-that-allows-a-text allows nothing', async () => {
    const budget = {
      metadata: { name: 'b', namespace: 'default' },
      spec: { selector: {} },
      status: { disruptionsAllowed: 'all' },
    };
    answering = contents({ items: [POD] }, { items: [budget] });
    expect((await api().readContents('a', how)).budgets).toMatchObject([{ name: 'b', disruptionsAllowed: 0 }]);
  });

  test('null-marks-of-a-pod are none: it is neither on its way out nor owned', async () => {
    const metadata = {
      ...POD.metadata,
      deletionTimestamp: null,
      ownerReferences: null,
      labels: null,
      annotations: null,
    };
    answering = contents(
      { items: [{ metadata, spec: { volumes: null }, status: { conditions: null } }] },
      { items: null },
    );
    const { pods } = await api().readContents('a', how);
    expect(pods).toMatchObject([{ isTerminating: false, isMirror: false, claims: [], graceSeconds: 30 }]);
    expect(pods[0]).not.toHaveProperty('owner');
  });
});

test('what-it-says-of-itself is kept short, and of what it does not say there is nothing', async () => {
  const info = `clusters:\n- cluster:\n    server: https://${'a'.repeat(300)}:6443\n`;
  answering = (request, response) => {
    const path = request.url ?? '';
    if (path === '/version') return json({ gitVersion: 'v'.repeat(10_000) })(request, response);
    if (path.endsWith('/cluster-info')) return json({ data: { kubeconfig: info } })(request, response);
    return json({ status: null }, 201)(request, response);
  };
  const { version, missingPermissions, joinEndpoint } = await api().readFacts(how);
  expect(version).toHaveLength(100);
  expect(missingPermissions).not.toEqual([]);
  expect(joinEndpoint).toBeUndefined();
});
