// What is read out of a kubeconfig, and what of it is refused, without a word of its secrets.
import { describe, expect, test } from 'vitest';
import { isLoopback } from '../../link/index.ts';
import { parseKubeconfig as parse } from './kubeconfig.ts';

const CA = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
const parseKubeconfig = (text: string, context?: string) => parse(text, { context, isLoopback });
const encode = (text: string): string => Buffer.from(text).toString('base64');
const SECRET = 'planted-secret-of-a-user';

interface Parts {
  readonly cluster?: object;
  readonly user?: object;
  readonly current?: string;
}

function kubeconfig({ cluster = {}, user = { token: SECRET }, current = 'main' }: Parts = {}): string {
  return JSON.stringify({
    'current-context': current,
    contexts: [
      { name: 'main', context: { cluster: 'c', user: 'u' } },
      { name: 'other', context: { cluster: 'gone', user: 'u' } },
    ],
    clusters: [
      {
        name: 'c',
        cluster: { server: 'https://10.0.0.1:6443/', 'certificate-authority-data': encode(CA), ...cluster },
      },
    ],
    users: [{ name: 'u', user }],
  });
}

test('a-token, and the authority in it', () => {
  expect(parseKubeconfig(kubeconfig())).toEqual({
    endpoint: 'https://10.0.0.1:6443',
    caCertificate: CA,
    credentials: { kind: 'token', token: SECRET },
  });
});

test.each([
  [{ user: { 'client-certificate-data': encode('cert'), 'client-key-data': encode('key') } }, 'certificate'],
  [{ user: { username: 'ann', password: SECRET } }, 'password'],
])('credentials of kind %j', (parts, kind) => {
  expect(parseKubeconfig(kubeconfig(parts))).toMatchObject({ credentials: { kind } });
});

test('without-credentials, over plain http, and without verification', () => {
  const cluster = { server: 'http://127.0.0.1:8080', 'insecure-skip-tls-verify': true };
  const access = parseKubeconfig(kubeconfig({ cluster, user: {} }));
  expect(access).toMatchObject({ endpoint: 'http://127.0.0.1:8080', skipTlsVerify: true });
  expect(access).not.toHaveProperty('credentials');
});

test('over plain http to another machine, when it says that nothing is verified', () => {
  const cluster = { server: 'http://10.0.0.1:8080', 'insecure-skip-tls-verify': true };
  expect(parseKubeconfig(kubeconfig({ cluster }))).toMatchObject({
    credentials: { kind: 'token' },
    skipTlsVerify: true,
  });
});

test('with-many-contexts', () => {
  const more = Array.from({ length: 100 }, (_, at) => ({ name: `other-${at}`, context: { cluster: 'c', user: 'u' } }));
  const whole = JSON.parse(kubeconfig()) as { contexts: object[] };
  const text = JSON.stringify({ ...whole, contexts: [...whole.contexts, ...more] }, undefined, 2);
  expect(parseKubeconfig(text)).toMatchObject({ endpoint: 'https://10.0.0.1:6443' });
});

describe('a kubeconfig that is refused', () => {
  test.each([
    ['keys', Array.from({ length: 5000 }, (_, at) => `k${at}: 1`).join('\n')],
    ['keys in braces', `{${Array.from({ length: 5000 }, (_, at) => `k${at}: 1`).join(',')}}`],
    ['aliases', Array.from({ length: 3000 }, (_, at) => `- &a${at} x\n- *a${at}`).join('\n')],
    ['brackets', '['.repeat(11_000)],
    ['spaces', ' '.repeat(11_000)],
  ])('never: the parser sees thousands of %s, which take it seconds', (_, text) => {
    const message = expect.stringContaining('longer than one context takes') as string;
    expect(parseKubeconfig(text)).toMatchObject({ code: 'kubeconfig-malformed', message });
  });

  test.each([
    ['no YAML', ': [', 'kubeconfig-malformed'],
    ['no kubeconfig', 'apiVersion: v1', 'kubeconfig-malformed'],
    ['no URL', kubeconfig({ cluster: { server: 'ftp://x' } }), 'kubeconfig-malformed'],
    ['half of a certificate', kubeconfig({ user: { 'client-certificate-data': encode('x') } }), 'kubeconfig-malformed'],
    ['a proxy', kubeconfig({ cluster: { 'proxy-url': 'http://proxy' } }), 'kubeconfig-names-proxy'],
    ['no certificate', kubeconfig({ cluster: { 'certificate-authority-data': encode('x') } }), 'kubeconfig-malformed'],
    ['no base64', kubeconfig({ cluster: { 'certificate-authority-data': '%%' } }), 'kubeconfig-malformed'],
    ['no such context', kubeconfig({ current: 'none' }), 'unknown-context'],
    ['an exec plugin', kubeconfig({ user: { exec: { command: 'aws' }, token: SECRET } }), 'kubeconfig-runs-program'],
    ['an auth provider', kubeconfig({ user: { 'auth-provider': { name: 'gcp' } } }), 'kubeconfig-runs-program'],
    ['a file for the key', kubeconfig({ user: { 'client-key': '/k', password: SECRET } }), 'kubeconfig-names-files'],
    ['a password in the URL', kubeconfig({ cluster: { server: `https://u:${SECRET}@a` } }), 'kubeconfig-shows-secret'],
    ['a user in the URL', kubeconfig({ cluster: { server: `https://${SECRET}@10.0.0.1` } }), 'kubeconfig-shows-secret'],
    ['no host', kubeconfig({ cluster: { server: 'https://:0' } }), 'kubeconfig-malformed'],
    ['plain http', kubeconfig({ cluster: { server: 'http://127.evil.example' } }), 'kubeconfig-plain-http'],
    ['a file for the CA', kubeconfig({ cluster: { 'certificate-authority': '/ca' } }), 'kubeconfig-names-files'],
  ])('%s', (_, text, code) => {
    const refusal = parseKubeconfig(text);
    expect(refusal).toMatchObject({ kind: 'invalid', code });
    expect(JSON.stringify(refusal)).not.toContain(SECRET);
  });

  test('a context whose cluster is not in it', () => {
    expect(parseKubeconfig(kubeconfig(), 'other')).toMatchObject({ code: 'kubeconfig-malformed' });
  });
});
