import { describe, expect, test } from 'vitest';
import { showPages } from './list-output.ts';
import type { OutputForm } from '../session.ts';
import { TestSession } from './session-fixture.ts';

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
  const session = new TestSession({ output });
  await showPages(session, pagesOf(...pages), { columns: COLUMNS, empty: 'No rows.', what: 'rows' });
  return session.written.out + session.written.err;
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

describe('progress of a list', () => {
  /** What is noted while pages of one row each come after so many milliseconds. */
  async function notesOf(waitsMs: readonly number[], outIsTerminal = false): Promise<string> {
    const session = new TestSession({ outIsTerminal });
    async function* pages(): AsyncGenerator<readonly Row[], void> {
      for (const waitMs of waitsMs) {
        session.clockMs += waitMs;
        yield [{ name: 'a' }];
      }
    }
    await showPages(session, pages(), { columns: COLUMNS, empty: 'No rows.', what: 'hosts' });
    return session.written.err;
  }

  test('a-list-that-takes-less-than-two-seconds-says-nothing-of-itself', async () => {
    expect(await notesOf([500, 500, 999])).toBe('');
  });

  test('a-longer-one-says-how-many-came-every-two-seconds-and-not-with-every-page', async () => {
    expect(await notesOf([1999, 1, 1, 1998, 1, 5000])).toBe('2 hosts so far\n5 hosts so far\n6 hosts so far\n');
  });

  test('on-a-terminal-the-rows-themselves-show-it', async () => {
    expect(await notesOf([5000, 5000], true)).toBe('');
  });
});
