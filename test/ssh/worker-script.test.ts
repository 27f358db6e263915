// The script that comes with Muster: its form, and what it does with programs that stand for kubeadm and the rest. It is run as it is sent, without a file.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { ensureShellcheck, SHELLCHECK } from './install-shellcheck.ts';

const SCRIPT = resolve(import.meta.dirname, '../../examples/kubernetes/worker.sh');
const shellcheck = await ensureShellcheck();

const SETTINGS = {
  MUSTER_CLUSTER: 'edge',
  MUSTER_NODE: 'edge-1',
  MUSTER_PROVIDER_ID: 'muster:///edge/edge-1',
  MUSTER_JOIN_ENDPOINT: '10.0.0.1:6443',
  MUSTER_CA_PIN: `sha256:${'0'.repeat(64)}`,
  MUSTER_KUBERNETES_VERSION: 'v1.33.2',
};
const TOKEN = 'abcdef.0123456789abcdef';

test('its-form-is-right', () => {
  execFileSync('bash', ['-n', SCRIPT]);
  expect(readFileSync(SCRIPT, 'utf8')).toContain('\nset -euo pipefail\n');
});

test('shellcheck-finds-nothing', ({ skip }) => {
  if (shellcheck.kind === 'missing') {
    if (process.env['CI'] === 'true') expect.fail(`ShellCheck is missing: ${shellcheck.reason}`);
    skip(`needs ShellCheck: ${shellcheck.reason}`);
  }
  const { stdout, status } = spawnSync(SHELLCHECK, [SCRIPT], { encoding: 'utf8' });
  expect({ stdout, status }).toEqual({ stdout: '', status: 0 });
});

interface Host {
  readonly folder: string;
  run(action: string, more?: Readonly<Record<string, string>>): { status: number | null; out: string; err: string };
  /** Calls of programs, in their order. */
  calls(): string[];
  config(): unknown;
}

/** With programs that write down what they are called with. */
function startHost(version = 'v1.33.2'): Host {
  const folder = mkdtempSync(join(tmpdir(), 'muster-worker-script-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const program = (name: string, body: string): void =>
    writeFileSync(join(folder, name), `#!/bin/bash\necho ${name} $* >> "${folder}/calls"\n${body}\n`, {
      mode: 0o755,
    });
  program(
    'kubeadm',
    [
      `case "$1" in version) echo ${version};;`,
      `reset) rm -f "${folder}/kubelet.conf";;`,
      `join) cp "$3" "${folder}/seen.yaml"; stat -c %a "$3" > "${folder}/mode"; env > "${folder}/environment"`,
      `  [ -e "${folder}/fails" ] && exit 3; echo k > "${folder}/kubelet.conf";; esac`,
    ].join('\n'),
  );
  for (const name of ['kubelet', 'containerd', 'restart-kubelet']) program(name, '');
  const environment = {
    PATH: `${folder}:/usr/bin:/bin`,
    ...{ KUBERNETES_DIR: folder, MUSTER_RUN_DIR: join(folder, 'run'), KUBELET_RESTART: 'restart-kubelet' },
  };
  return {
    folder,
    run: (action, more = {}) => {
      // As the runner does: the token is a variable of the shell alone.
      const text = `MUSTER_TOKEN='${TOKEN}'\n${readFileSync(SCRIPT, 'utf8')}`;
      const ran = spawnSync('bash', ['--norc', '-c', 'eval "$(cat)"', 'worker', action], {
        input: text,
        env: { ...environment, ...SETTINGS, ...more },
        encoding: 'utf8',
      });
      return { status: ran.status, out: ran.stdout, err: ran.stderr };
    },
    calls: () => {
      const file = join(folder, 'calls');
      return existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : [];
    },
    config: () => parse(readFileSync(join(folder, 'seen.yaml'), 'utf8')) as unknown,
  };
}

describe('the worker script', () => {
  test('an-image-that-has-everything-is-left-as-it-is', () => {
    const host = startHost();
    expect(host.run('install')).toMatchObject({ status: 0, err: '' });
    expect(host.calls()).toEqual([]);
  });

  test.each([
    ['v1.20.2', 'v1beta2', { 'provider-id': SETTINGS.MUSTER_PROVIDER_ID }],
    ['v1.30.1', 'v1beta3', { 'provider-id': SETTINGS.MUSTER_PROVIDER_ID }],
    ['v1.33.2', 'v1beta4', [{ name: 'provider-id', value: SETTINGS.MUSTER_PROVIDER_ID }]],
  ])('kubeadm %s is given its configuration in %s', (version, api, kubeletExtraArgs) => {
    const host = startHost(version);
    expect(host.run('join')).toMatchObject({ status: 0, err: '' });
    expect(host.config()).toEqual({
      apiVersion: `kubeadm.k8s.io/${api}`,
      kind: 'JoinConfiguration',
      discovery: {
        bootstrapToken: {
          apiServerEndpoint: SETTINGS.MUSTER_JOIN_ENDPOINT,
          token: TOKEN,
          caCertHashes: [SETTINGS.MUSTER_CA_PIN],
        },
      },
      nodeRegistration: { name: 'edge-1', kubeletExtraArgs },
    });
  });

  test('the-token-is-in-no-argument, in no environment, and on the disk only while kubeadm reads it', () => {
    const host = startHost();
    host.run('join');
    const read = (name: string): string => readFileSync(join(host.folder, name), 'utf8');
    expect(read('calls') + read('environment')).not.toContain(TOKEN.slice(7));
    expect(read('mode')).toBe('600\n');
    rmSync(join(host.folder, 'seen.yaml'));
    const left = spawnSync('grep', ['-r', TOKEN.slice(7), host.folder], { encoding: 'utf8' });
    expect(left.stdout).toBe('');
  });

  test('a-second-join-starts-the-kubelet-again, and joins nothing', () => {
    const host = startHost();
    host.run('join');
    const before = host.calls().length;
    expect(host.run('join')).toMatchObject({ status: 0 });
    expect(host.calls().slice(before)).toEqual(['restart-kubelet']);
  });

  test.each([
    ['of another cluster', { MUSTER_CLUSTER: 'other' }],
    ['with another authority', { MUSTER_CA_PIN: `sha256:${'1'.repeat(64)}` }],
    ['by another name', { MUSTER_NODE: 'edge-2' }],
  ])('what is left of a join %s is removed first', (_name, more) => {
    const host = startHost();
    host.run('join', more);
    const before = host.calls().length;
    expect(host.run('join')).toMatchObject({ status: 0 });
    expect(
      host
        .calls()
        .slice(before)
        .map((call) => call.split(' ').slice(0, 2).join(' ')),
    ).toEqual(['kubeadm reset', 'kubeadm version', 'kubeadm join']);
  });

  test('a-join-that-was-cut-off-is-begun-again', () => {
    const host = startHost();
    writeFileSync(join(host.folder, 'kubelet.conf'), 'half of it');
    expect(host.run('join')).toMatchObject({ status: 0 });
    expect(host.calls()[0]).toBe('kubeadm reset --force');
  });

  test('a-failure-of-kubeadm-is-one-of-the-script', () => {
    const host = startHost();
    writeFileSync(join(host.folder, 'fails'), '');
    expect(host.run('join').status).toBe(3);
    expect(existsSync(join(host.folder, 'muster-worker'))).toBe(false);
  });

  test('a-machine-leaves, also twice, and joins again', () => {
    const host = startHost();
    host.run('join');
    expect(host.run('leave')).toMatchObject({ status: 0 });
    expect(host.run('leave')).toMatchObject({ status: 0 });
    const before = host.calls().length;
    host.run('join');
    expect(
      host
        .calls()
        .slice(before)
        .some((call) => call.startsWith('kubeadm join')),
    ).toBe(true);
  });

  test('what-lacks-is-named', () => {
    const host = startHost();
    expect(host.run('join', { MUSTER_JOIN_ENDPOINT: '' })).toMatchObject({ status: 1 });
    expect(host.run('fly')).toMatchObject({ status: 1, err: expect.stringContaining('install|join|leave') as string });
  });
});
