// What of a kubeconfig file is sent to the control plane.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { Terminal } from '../output/terminal.ts';
import { readKubeconfig } from './kubeconfig-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'muster-kubeconfig-'));
afterAll(() => rmSync(folder, { recursive: true }));

const terminal = {} as Terminal;

function fileOf(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const TWO = `
apiVersion: v1
current-context: one
contexts:
- {name: one, context: {cluster: c1, user: u1, namespace: web}}
- {name: two, context: {cluster: c2, user: u2}}
clusters:
- {name: c1, cluster: {server: "https://one.example:6443", certificate-authority: ca.pem}}
- {name: c2, cluster: {server: "https://two.example:6443"}}
users:
- {name: u1, user: {tokenFile: token-one}}
- {name: u2, user: {token: secret-of-two}}
preferences: {note: secret-note}
`;

test('never: another context than the one that is used is sent', async () => {
  fileOf('ca.pem', 'authority');
  fileOf('token-one', 'secret-of-one\n');
  const path = fileOf('two.conf', TWO);
  const one = await readKubeconfig(terminal, path);
  expect(parse(one)).toEqual({
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'one' },
    contexts: [{ name: 'one', context: { cluster: 'c1', user: 'u1', namespace: 'web' } }],
    clusters: [
      {
        name: 'c1',
        cluster: {
          server: 'https://one.example:6443',
          'certificate-authority-data': Buffer.from('authority').toString('base64'),
        },
      },
    ],
    users: [{ name: 'u1', user: { token: 'secret-of-one' } }],
  });
  const two = await readKubeconfig(terminal, path, 'two');
  expect(two).toContain('secret-of-two');
  expect(two).not.toMatch(/secret-of-one|one\.example|secret-note|token-one/);
});

test('of a file without the context that is wanted, names of contexts alone are sent', async () => {
  const said = await readKubeconfig(terminal, fileOf('two.conf', TWO), 'three');
  expect(parse(said)).toMatchObject({ contexts: [{ name: 'one' }, { name: 'two' }], clusters: [] });
  expect(said).not.toMatch(/secret|example/);
});

test.each(['a: b', '[1', 'contexts: x\nclusters: []', '"text"'])('what is none is sent as it is: %j', async (text) => {
  expect(await readKubeconfig(terminal, fileOf('none.conf', text))).toBe(text);
});
