import { describe, expect, test } from 'vitest';
import { showPages } from './list-output.ts';
import { Session, type OutputForm } from '../session.ts';
import type { Terminal } from './terminal.ts';

interface Row {
  readonly name: string;
  readonly note?: string;
}

const COLUMNS = [
  { title: 'name', of: (row: Row) => row.name },
  { title: 'note', of: (row: Row) => row.note },
];

async function* pagesOf(...pages: readonly (readonly Row[])[]): AsyncGenerator<readonly Row[], void> {
  yield* pages;
}

async function shown(output: OutputForm, ...pages: readonly (readonly Row[])[]): Promise<string> {
  let text = '';
  const write = (more: string): void => {
    text += more;
  };
  const terminal: Terminal = {
    env: {},
    outIsTerminal: false,
    errIsTerminal: false,
    columns: () => 80,
    input: () => Promise.resolve(new Uint8Array()),
    interruptSignal: () => new AbortController().signal,
    out: write,
    err: write,
  };
  const options = { output, color: false, data: 'data', requestTimeout: 10_000 };
  const session = new Session(terminal, options, { version: '1', isDataGiven: true });
  await showPages(session, pagesOf(...pages), { columns: COLUMNS, empty: 'No rows.', what: 'rows' });
  return text;
}

const [one, two, three] = [{ name: 'a' }, { name: 'b', note: 'x\ny' }, { name: 'long-name' }];

describe('lists in pages', () => {
  test('json-is-the-same-text-as-of-all-rows-at-once', async () => {
    const whole = `${JSON.stringify([one, two, three], null, 2)}\n`;
    expect(await shown('json', [one, two, three])).toBe(whole);
    expect(await shown('json', [one], [], [two], [three])).toBe(whole);
    expect(await shown('json')).toBe('[]\n');
  });

  test('yaml-is-one-sequence', async () => {
    expect(await shown('yaml', [one], [three])).toBe('- name: a\n- name: long-name\n');
    expect(await shown('yaml', [])).toBe('[]\n');
  });

  test('a-table-has-one-head, and columns that only grow', async () => {
    expect(await shown('table', [one, two], [three], [one])).toBe(
      ['NAME  NOTE', 'a     -', 'b     x y', 'long-name  -', 'a          -', ''].join('\n'),
    );
    expect(await shown('table', [])).toBe('No rows.\n');
  });
});
