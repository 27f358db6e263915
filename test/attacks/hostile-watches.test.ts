// Watches of a Kubernetes API that is silent, breaks, floods or answers what none does: each ends or waits, none takes more of this server than it is given, and no
// connection is left.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { waitFor } from '../ha/wait-for.ts';
import { ApiClient } from '../../src/kubernetes/runtime.ts';

let server: Server;
let endpoint: string;
/** Of requests for a watch; lists are answered. */
let answering: (response: ServerResponse, request: IncomingMessage) => void | Promise<void>;
let lists = 0;

beforeEach(async () => {
  lists = 0;
  server = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://x');
    if (searchParams.get('watch') === 'true') {
      expect(searchParams.get('resourceVersion')).toBe('42');
      void answering(response, request);
      return;
    }
    lists += 1;
    response.writeHead(200, JSON_TYPE).end('{"metadata":{"resourceVersion":"42"},"items":[]}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.close();
  server.closeAllConnections();
});

const JSON_TYPE = { 'content-type': 'application/json' };
const UNREACHABLE = { code: 'cluster-unreachable' };
const connections = (): Promise<number> =>
  new Promise((resolve, reject) => server.getConnections((error, count) => (error ? reject(error) : resolve(count))));
const node = (name: string, facts: object = {}) => ({
  metadata: { name, uid: `uid-${name}` },
  status: { conditions: [{ type: 'Ready', status: 'True' }] },
  ...facts,
});
const event = (type: string, object: object): string => `${JSON.stringify({ type, object })}\n`;
const changed = (name: string): string => event('MODIFIED', { metadata: { namespace: 'default', name }, spec: {} });

interface Watched {
  readonly seen: string[];
  readonly ended: Promise<unknown>;
  readonly stop: () => void;
}

function watch(what: 'nodes' | 'pods' = 'nodes'): Watched {
  const stop = new AbortController();
  const seen: string[] = [];
  const ended = new ApiClient({ name: 'edge', endpoint })
    .watch(what, (change) => void seen.push(change.kind === 'node' ? change.node : change.namespace), stop)
    .then(
      () => 'ended' as const,
      (error: unknown) => error,
    );
  return { seen, ended, stop: () => stop.abort(new Error('told to end')) };
}

test('what-was-begun-is-read-until-the-api-ends-it, also in pieces', async () => {
  answering = async (response) => {
    response.writeHead(200, JSON_TYPE);
    const lines = event('MODIFIED', node('a')) + event('BOOKMARK', {}) + event('DELETED', node('b'));
    response.write(lines.slice(0, 20));
    await sleep(20);
    response.end(lines.slice(20));
  };
  const { seen, ended } = watch();
  expect(await ended).toBe('ended');
  expect(seen).toEqual(['a', 'b']);
});

test('a-node-that-only-says-that-it-is-there-is-no-change', async () => {
  const notReady = { status: { conditions: [{ type: 'Ready', status: 'False' }] } };
  answering = (response) => {
    const objects = [
      node('a'),
      node('a'),
      node('a', notReady),
      node('a', notReady),
      node('a', { spec: { unschedulable: true } }),
    ];
    response.writeHead(200, JSON_TYPE).end(objects.map((object) => event('MODIFIED', object)).join(''));
  };
  const { seen, ended } = watch();
  await ended;
  expect(seen).toEqual(['a', 'a', 'a']);
});

test('a-silent-one-lasts-until-it-is-told-to-end, and leaves no connection', async () => {
  answering = (response) => response.writeHead(200, JSON_TYPE).flushHeaders();
  const watches = Array.from({ length: 4 }, () => watch());
  await waitFor('all to watch', async () => ((await connections()) >= 4 && lists === 4) || undefined);
  for (const { stop } of watches) stop();
  for (const { ended, seen } of watches) {
    expect(await ended).toMatchObject({ message: 'told to end' });
    expect(seen).toEqual([]);
  }
  // Those that lists came by are kept for a while.
  server.closeIdleConnections();
  await waitFor('no connection', async () => (await connections()) === 0 || undefined);
});

test('one-that-answers-nothing-at-all-ends-when-it-is-told-to', async () => {
  const asked = Promise.withResolvers<undefined>();
  answering = () => asked.resolve(undefined);
  const { ended, stop } = watch();
  await asked.promise;
  stop();
  expect(await ended).toMatchObject({ message: 'told to end' });
});

describe('it is an API that does not answer', () => {
  test.each<[string, string]>([
    ['no JSON', '<html>welcome</html>\n'],
    ['no event', '{"kind":"NodeList","items":[]}\n'],
    ['null', 'null\n'],
    ['a number', '5\n'],
    ['an unknown event', event('RENAMED', node('a'))],
    ['a Node without a name', event('ADDED', { metadata: {} })],
    ['a name that is an object', event('ADDED', { metadata: { name: { a: 1 }, uid: 'u' } })],
    ['a name without end', event('ADDED', { metadata: { name: 'x'.repeat(254), uid: 'u' } })],
    ['conditions that are none', event('ADDED', { metadata: { name: 'a', uid: 'u' }, status: { conditions: [null] } })],
  ])('that sends %s', async (_, line) => {
    answering = (response) => void response.writeHead(200, JSON_TYPE).end(line);
    const { ended, seen } = watch();
    expect(await ended).toMatchObject(UNREACHABLE);
    expect(seen).toEqual([]);
  });

  test('whose-line-has-no-end', async () => {
    let isEnded = false;
    answering = (response) => {
      response.writeHead(200, JSON_TYPE);
      response.on('close', () => (isEnded = true));
      const piece = 'x'.repeat(256 * 1024);
      const more = (): void => {
        if (!isEnded) response.write(piece, more);
      };
      more();
    };
    const { ended } = watch();
    expect(await ended).toMatchObject(UNREACHABLE);
    await waitFor('its connection to end', async () => isEnded || undefined);
  });

  test('that-breaks-off', async () => {
    answering = (response) => {
      response.writeHead(200, JSON_TYPE);
      response.write(event('MODIFIED', node('a')), () => response.destroy());
    };
    const { ended, seen } = watch();
    expect(await ended).toMatchObject(UNREACHABLE);
    expect(seen).toEqual(['a']);
  });
});

test.each([404, 405, 403, 410, 500, 302])('a-refusal-by-%i-is-one-of-the-port, and is not followed', async (status) => {
  answering = (response) => void response.writeHead(status, { location: `${endpoint}/elsewhere` }).end('no');
  expect(await watch().ended).toMatchObject({ code: 'cluster-refused', status });
});

test('an-expired-one-ends: another is begun from what is there then', async () => {
  const status = { kind: 'Status', code: 410, reason: 'Expired' };
  answering = (response) => void response.writeHead(200, JSON_TYPE).write(event('ERROR', status));
  expect(await watch().ended).toBe('ended');
});

test('of-a-flood-no-more-than-a-thousand-events-are-taken-in-a-second, and the rest waits at the other side', async () => {
  let written = 0;
  answering = (response) => {
    response.writeHead(200, JSON_TYPE);
    const lines = changed('web-0').repeat(1000);
    const more = (): void => {
      if (response.destroyed) return;
      written += lines.length;
      response.write(lines, more);
    };
    more();
  };
  const { seen, ended, stop } = watch('pods');
  const beganMs = performance.now();
  await waitFor('what may be taken', async () => seen.length >= 1000 || undefined);
  await sleep(500);
  const seconds = Math.ceil((performance.now() - beganMs) / 1000);
  expect(seen.length).toBeLessThanOrEqual(1000 * (seconds + 1));
  // What the two sockets hold, and no more.
  expect(written).toBeLessThan(64 * 1024 * 1024);
  stop();
  expect(await ended).toMatchObject({ message: 'told to end' });
});
