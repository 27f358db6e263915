// A writer as a process of its own: `writer.ts URL NAME COMMITS`. It prints the journal's id, then a line for each group:
// what it tried to write and what it was answered. Some groups are refused on purpose.
import { openPostgresStore } from '../../src/journal/postgres/store.ts';
import { type CommitBatch, type CommitGroup, type Store, StoreUnavailable } from '../../src/journal/store.ts';

export interface WriterLine {
  readonly ids: readonly string[];
  readonly outcome: 'written' | 'conflict' | 'failed' | 'unknown';
  readonly revision?: number;
}

const REFUSED_SHARE = 0.2;
const GROUP_MAX = 3;

function groupOf(name: string, nth: number, refused: boolean): CommitGroup {
  const size = refused ? GROUP_MAX : 1 + (nth % GROUP_MAX);
  const batches = Array.from({ length: size }, (_, at): CommitBatch => {
    const id = `${name}-${nth}-${at}`;
    const body = JSON.stringify({ nth, at });
    return { id, atMs: Date.now(), by: name, preconditions: [], changes: [{ kind: 'host', id: `h${nth % 7}`, body }] };
  });
  const impossible = { kind: 'at', resource: ['host', 'never'], revision: 1 } as const;
  const last = batches.at(-1);
  if (refused && last !== undefined) batches.splice(-1, 1, { ...last, preconditions: [impossible] });
  return { batches };
}

async function open(connectionString: string): Promise<Store> {
  try {
    return await openPostgresStore({ connectionString });
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    return open(connectionString); // its session was cut while it started
  }
}

async function writeAll([url = '', name = '', groups = '']: readonly string[]): Promise<void> {
  const store = await open(url);
  console.log(store.journalId);
  for (let nth = 0; nth < Number(groups); nth += 1) {
    const group = groupOf(name, nth, nth > 0 && Math.random() < REFUSED_SHARE);
    const answer = await store.write(group).catch((error: unknown) => {
      if (error instanceof StoreUnavailable) return { kind: error.outcome };
      throw error;
    });
    const revision = 'revision' in answer ? { revision: answer.revision } : {};
    const line: WriterLine = { ids: group.batches.map((one) => one.id), outcome: answer.kind, ...revision };
    console.log(JSON.stringify(line));
  }
  await store.close();
}

await writeAll(process.argv.slice(2));
