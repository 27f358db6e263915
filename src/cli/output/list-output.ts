// Lists that are shown as they arrive, page by page: a hundred thousand rows need neither the memory nor the wait for all of
// them. What is written is one table, one JSON array or one YAML sequence, however many pages it came in.
import type { Session } from '../session.ts';
import { ProgressNote } from './progress-note.ts';
import { TableWriter, type TableColumn } from './table.ts';

export interface ListLayout<R> {
  readonly columns: readonly TableColumn<R>[];
  /** Written when there are none. */
  readonly empty: string;
  /** In the plural, for progress: `hosts`. */
  readonly what: string;
}

export async function showPages<R>(
  session: Session,
  pages: AsyncIterable<readonly R[]>,
  { columns, empty, what }: ListLayout<R>,
): Promise<void> {
  const writer = writerFor(session, columns);
  const progress = new ProgressNote(session);
  let count = 0;
  for await (const page of pages) {
    if (page.length > 0) await writer.rows(page);
    count += page.length;
    progress.report(() => `${count} ${what} so far`);
  }
  if (count === 0 && session.output === 'table') session.note(empty);
  else writer.end();
}

interface RowsWriter<R> {
  rows(page: readonly R[]): void | Promise<void>;
  end(): void;
}

function writerFor<R>(session: Session, columns: readonly TableColumn<R>[]): RowsWriter<R> {
  const write = (text: string): void => session.terminal.out(text);
  switch (session.output) {
    case 'table': {
      const table = new TableWriter(columns, session.paint);
      return { rows: (page) => write(table.render(page)), end: () => undefined };
    }
    case 'json':
      return new JsonArrayWriter(write);
    case 'yaml': {
      let isEmpty = true;
      return {
        rows: (page) => {
          isEmpty = false;
          return session.writeValue(page);
        },
        end: () => {
          if (isEmpty) write('[]\n');
        },
      };
    }
  }
}

/** The same text as `JSON.stringify(rows, null, 2)`. */
class JsonArrayWriter<R> implements RowsWriter<R> {
  readonly #write: (text: string) => void;
  #isEmpty = true;

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  rows(page: readonly R[]): void {
    // Without its closing bracket a page is followed by the next one.
    const text = JSON.stringify(page, null, 2).slice(1, -'\n]'.length);
    this.#write(`${this.#isEmpty ? '[' : ','}${text}`);
    this.#isEmpty = false;
  }

  end(): void {
    this.#write(this.#isEmpty ? '[]\n' : '\n]\n');
  }
}
