// The shipped alert rules: promtool reads and tries them, and a real server has every figure that they name.
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { newFolder, run, startServer } from '../cli/muster.ts';
import { selfSigned } from '../self-signed.ts';
import { withTools } from './install.ts';

const FOLDER = resolve(import.meta.dirname, '../../packaging/prometheus');
const RULES = join(FOLDER, 'muster.rules.yml');
const promtool = (...args: string[]): Promise<{ stdout: string }> => promisify(execFile)('promtool', args);

interface Rules {
  readonly groups: readonly {
    readonly rules: readonly { readonly alert: string; readonly expr: string; readonly labels: object }[];
  }[];
}

const RULE_LIST = (parse(readFileSync(RULES, 'utf8')) as Rules).groups.flatMap(({ rules }) => rules);

await withTools([{ program: 'promtool', name: 'prometheus' }], () => {
  test('promtool-accepts-the-rules', async () => {
    const { stdout } = await promtool('check', 'rules', RULES);
    expect(stdout).toContain(`SUCCESS: ${RULE_LIST.length} rules found`);
  });

  test('each-alert-fires-on-what-it-is-for', async () => {
    const { stdout } = await promtool('test', 'rules', join(FOLDER, 'muster.rules.test.yml'));
    expect(stdout).toContain('SUCCESS');
    const tried = readFileSync(join(FOLDER, 'muster.rules.test.yml'), 'utf8');
    expect(RULE_LIST.map(({ alert }) => alert).filter((alert) => !tried.includes(alert))).toEqual([]);
  });
});

test('a-server-has-every-figure-that-the-rules-name', async () => {
  const tls = await selfSigned();
  const folder = newFolder();
  for (const [name, text] of Object.entries(tls)) writeFileSync(join(folder, name), text as string);
  const server = await startServer(newFolder(), '--tls-cert', join(folder, 'cert'), '--tls-key', join(folder, 'key'));
  const metrics = await shownBy(
    server.url,
    join(folder, 'cert'),
    readFileSync(join(server.data, 'admin-token'), 'utf8'),
  );
  await server.stop();
  const shown = new Set([...metrics.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
  const named = RULE_LIST.flatMap(({ expr }) =>
    [...expr.matchAll(/\b(?:muster|process|nodejs)_\w+/g)].map(([name]) => name),
  );
  expect(named.length).toBeGreaterThan(15);
  expect(named.map((name) => name.replace(/_bucket$/, '')).filter((name) => !shown.has(name))).toEqual([]);
  expect(metrics).toContain('\nmuster_store_up 1\n');
});

async function shownBy(url: string, ca: string, token: string): Promise<string> {
  const script = `const answer = await fetch('${url}/metrics', { headers: { authorization: 'Bearer ${token.trim()}' } });
    process.stdout.write(await answer.text());`;
  const { out, err } = await run(['--input-type=module', '-e', script], {
    command: [process.execPath],
    env: { NODE_EXTRA_CA_CERTS: ca },
  });
  expect(err).toBe('');
  return out;
}
