import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { runWords } from '../output/terminal-fixture.ts';

const folder = mkdtempSync(join(tmpdir(), 'muster-input-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function saidOf(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  writeFileSync(path, text);
  const { code, out, err } = await runWords(['hosts', 'join', '-f', path]);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  return err.replace(path, name);
}

describe('a file that cannot be read names its line and column', () => {
  test('JSON, with the place shown', async () => {
    const text = '{"hosts": [\n  {"name": "c1"},\n  {"name": "c2" "zone": "b"}\n]}';
    expect(await saidOf('hosts.json', text)).toMatchInlineSnapshot(`
      "hosts.json is neither YAML nor JSON at line 3, column 17: Unexpected double-quoted-scalar token.
          {"name": "c2" "zone": "b"}
                        ^
      "
    `);
  });

  test.each([
    ['a list that does not end', 'a: [1,', 'at line 1, column 7: Flow sequence'],
    ['indented too little', 'hosts:\n  - name: c1\n   zone: b\n', 'at line 3, column 1: Sequence item without'],
    ['a tab', 'hosts:\n\t- name: x', 'at line 2, column 1: Tabs are not allowed'],
    ['the same key twice', '- name: c1\n  zone: a\n  zone: b', 'at line 3, column 3: Map keys must be unique.'],
    ['two documents', 'a: 1\n---\nb: 2', 'at line 2, column 1: a second document begins.'],
    ['an alias of nothing', 'hosts:\n  - *first', 'at line 2, column 5: nothing before it is called &first.'],
    ['an alias before its anchor', '- *first\n- &first {}', 'at line 1, column 3: nothing before it'],
  ])('%s', async (_, text, said) => {
    expect(await saidOf('hosts.yaml', text)).toContain(`hosts.yaml is neither YAML nor JSON ${said}`);
  });

  test('never: what is shown of it does something to the terminal', async () => {
    expect(await saidOf('odd.yaml', 'a: [\u001B[31m')).not.toContain('\u001B');
  });
});
