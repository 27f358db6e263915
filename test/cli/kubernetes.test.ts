// muster clusters and muster workers, against a real server: what is wrong is refused with a sentence of its own, by field, changes nothing, and repeats no secret.
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { waitFor } from '../ha/wait-for.ts';
import { MinimalApi } from '../kubernetes/minimal-api.ts';
import { selfSigned } from '../self-signed.ts';
import { newFolder, startServer } from './muster.ts';

const server = await startServer(newFolder());
const { muster } = server;
const folder = newFolder();
const CONTROL_PLANE = 'node-role.kubernetes.io/control-plane';
const SECRET = 'planted-secret-of-a-user';
let api: MinimalApi;

interface Parts {
  readonly server?: string;
  readonly user?: object;
  readonly cluster?: object;
}

function fileOf(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

function kubeconfig(
  name: string,
  { server: url = api.url, user = { token: SECRET }, cluster = {} }: Parts = {},
): string {
  return fileOf(
    name,
    JSON.stringify({
      'current-context': 'main',
      contexts: [{ name: 'main', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster: { server: url, ...cluster } }],
      users: [{ name: 'u', user }],
    }),
  );
}

async function revision(): Promise<number> {
  const token = readFileSync(join(server.data, 'admin-token'), 'utf8').trim();
  const answered = await fetch(`${server.url}/api/v1/clusters`, { headers: { authorization: `Bearer ${token}` } });
  const at = Number(answered.headers.get('muster-revision'));
  expect(at).toBeGreaterThan(0);
  return at;
}

beforeAll(async () => {
  api = await MinimalApi.start(['a', 'b', 'c', 'master'], [{ name: 'web-1', node: 'a' }]);
  expect(await muster('clusters', 'add', 'edge', '--kubeconfig', kubeconfig('edge.conf'))).toMatchObject({
    code: 0,
    out: 'Cluster edge is registered. Its API answers. It does not say what Muster may do there.\n',
  });
  api.label('master', CONTROL_PLANE);
  const flavor = await muster('flavors', 'create', 'm', '--vcpus', '1', '--memory', '512', '--disk', '1');
  expect(flavor).toMatchObject({ code: 0 });
  const created = await muster('instances', 'create', 'vm', '--flavor', 'm', '--network', 'none');
  expect(created).toMatchObject({ code: 0 });
  for (const more of [['a'], ['b', '--instance', 'vm']])
    expect(await muster('workers', 'adopt', ...more, '--cluster', 'edge')).toMatchObject({ code: 0 });
});
afterAll(() => api.stop());

test('files that a kubeconfig names are put inside', async () => {
  const user = { tokenFile: 'token.txt' };
  fileOf('token.txt', `${SECRET}\n`);
  const path = kubeconfig('files.conf', { user });
  const said = await muster('clusters', 'add', 'inline', '--kubeconfig', path, '--drains-at-once', '2');
  expect(said).toMatchObject({ code: 0 });
  expect((await muster('clusters', 'show', 'inline')).out).toMatch(/When a host leaves +drain, 2 at once/);
  const missing = kubeconfig('missing.conf', { user: { tokenFile: 'none.txt' } });
  expect(await muster('clusters', 'add', 'x', '--kubeconfig', missing)).toMatchObject({
    code: 2,
    err: expect.stringContaining('There is no file') as string,
  });
});

const OF_CONTROL_PLANE = /is of the control plane: such nodes are not drained or removed here/;

test('credentials are changed, and those of other contexts of the file are not sent', async () => {
  const added = await muster('clusters', 'add', 'renewed', '--kubeconfig', kubeconfig('old.conf'));
  expect(added).toMatchObject({ code: 0 });
  const path = fileOf(
    'new.conf',
    JSON.stringify({
      'current-context': 'other',
      contexts: ['main', 'other'].map((name) => ({ name, context: { cluster: name, user: name } })),
      clusters: [
        { name: 'main', cluster: { server: api.url } },
        { name: 'other', cluster: { server: 'https://other.example', 'certificate-authority': 'none.pem' } },
      ],
      users: [
        { name: 'main', user: { token: 'a-new-token' } },
        { name: 'other', user: { exec: { command: 'aws' }, token: SECRET } },
      ],
    }),
  );
  const set = await muster(
    'clusters',
    'set',
    'renewed',
    '--kubeconfig',
    path,
    '--context',
    'main',
    '--drains-at-once',
    '3',
  );
  expect(set).toMatchObject({ code: 0 });
  await waitFor('a look with the new credentials', () => Promise.resolve(api.tokens.has('a-new-token') || undefined));
  expect((await muster('clusters', 'show', 'renewed')).out).toMatch(/When a host leaves +drain, 3 at once/);
  expect(`${set.out}${set.err}${server.err()}`).not.toMatch(/a-new-token|planted-secret/);
});

describe('refused', () => {
  test.each<[string, () => Promise<readonly string[]> | readonly string[], RegExp]>([
    [
      'no kubeconfig',
      () => ['clusters', 'add', 'x', '--kubeconfig', fileOf('none', 'a: b')],
      /no kubeconfig that can be used/,
    ],
    ['none at all', () => ['clusters', 'add', 'x'], /registered by its kubeconfig/],
    [
      'an exec plugin',
      () => [
        'clusters',
        'add',
        'x',
        '--kubeconfig',
        kubeconfig('e', { user: { exec: { command: 'aws' }, token: SECRET } }),
      ],
      /from a program \(exec or auth-provider\)/,
    ],
    [
      'an unknown context',
      () => ['clusters', 'add', 'x', '--kubeconfig', kubeconfig('k'), '--context', 'none'],
      /no context "none": it has "main"/,
    ],
    [
      'new credentials with a program',
      () => ['clusters', 'set', 'edge', '--kubeconfig', kubeconfig('e', { user: { exec: { command: 'aws' } } })],
      /from a program \(exec or auth-provider\)/,
    ],
    ['a context without its file', () => ['clusters', 'set', 'edge', '--context', 'main'], /is one of a kubeconfig/],
    ['a wrong authority', wrongAuthority, /a certificate that the authority in the kubeconfig has not signed/],
    [
      'a name that is taken',
      () => ['clusters', 'add', 'edge', '--kubeconfig', kubeconfig('k')],
      /There is a cluster "edge" already/,
    ],
    ['an unknown worker', () => ['workers', 'drain', 'edge.z'], /Cluster "edge" has no worker "edge.z"/],
    [
      'a worker twice',
      () => ['workers', 'drain', 'edge.a', 'a', '--cluster', 'edge'],
      /Worker "a" is named more than once/,
    ],
    [
      'one of another cluster',
      () => ['workers', 'remove', 'edge.a', 'inline.b'],
      /"inline.b" is no name of a worker of cluster "edge"/,
    ],
    [
      'a count of 0',
      () => ['workers', 'remove', '--count', '0', '--cluster', 'edge'],
      /^0 workers cannot be chosen|--count: 0 workers/m,
    ],
    [
      'a count too large',
      () => ['workers', 'drain', '--count', '501', '--cluster', 'edge'],
      /501 workers cannot be chosen/,
    ],
    [
      'more than there are',
      () => ['workers', 'drain', '--count', '3', '--cluster', 'edge'],
      /has 2 workers of which that can be asked/,
    ],
    ['a Node that is a worker', () => ['workers', 'adopt', 'a', '--cluster', 'edge'], /is a worker already/],
    ['a Node that is not there', () => ['workers', 'adopt', 'z', '--cluster', 'edge'], /has no Node "z"/],
    [
      'an instance that is not there',
      () => ['workers', 'adopt', 'c', '--instance', 'none', '--cluster', 'edge'],
      /no instance "none"/,
    ],
    [
      'an instance that is a worker already',
      () => ['workers', 'adopt', 'c', '--instance', 'vm', '--cluster', 'edge'],
      /Instance "vm" is worker "edge.b" already/,
    ],
    ['a Node of the control plane', () => ['workers', 'adopt', 'master', '--cluster', 'edge'], OF_CONTROL_PLANE],
    [
      'to forget a worker of another cluster',
      () => ['workers', 'forget', 'edge.a', 'inline.b'],
      /"inline.b" is no name/,
    ],
    [
      'a cluster with workers',
      () => ['clusters', 'delete', 'edge'],
      /Cluster "edge" has 2 workers\. Remove them first/,
    ],
    ['workers where none join', () => ['workers', 'add', 'edge', '--flavor', 'm'], /takes adopted workers only/],
  ])('%s', async (_, compose, sentence) => {
    const words = await compose();
    const before = await revision();
    const { code, out, err } = await muster(...words);
    expect({ code, err }).toEqual({ code: 1, err: expect.stringMatching(sentence) as string });
    expect(`${out}${err}${server.err()}`).not.toContain(SECRET);
    expect(await revision()).toBe(before);
  });
});

test('a worker that becomes one of the control plane is drained no more, and is forgotten without a change of its Node', async () => {
  expect(await muster('workers', 'adopt', 'c', '--cluster', 'edge')).toMatchObject({ code: 0 });
  api.label('c', CONTROL_PLANE);
  await waitFor(
    'the next look',
    async () =>
      (await muster('workers', 'show', 'edge.c', '--output', 'json')).out.includes('isControlPlane') || undefined,
  );
  for (const verb of ['preview', 'drain', 'remove'])
    expect(await muster('workers', verb, 'edge.c')).toMatchObject({
      code: 1,
      err: expect.stringMatching(OF_CONTROL_PLANE) as string,
    });
  expect(await muster('workers', 'forget', 'edge.c')).toMatchObject({
    code: 0,
    out: 'Not workers any more: edge.c. Their Nodes stay as they are.\n',
  });
  expect(api.changes).toEqual([]);
});

async function wrongAuthority(): Promise<readonly string[]> {
  const [own, other] = [await selfSigned(), await selfSigned()];
  const tls = createServer(own, (_, response) => response.end('{}'));
  tls.listen(0, '127.0.0.1').unref();
  await once(tls, 'listening');
  const url = `https://127.0.0.1:${(tls.address() as AddressInfo).port}`;
  const cluster = { 'certificate-authority-data': Buffer.from(other.cert).toString('base64') };
  return ['clusters', 'add', 'x', '--kubeconfig', kubeconfig('tls', { server: url, cluster })];
}
