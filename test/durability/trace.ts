// Reads what strace saw of a writer and says which acknowledgements came too early: before the bytes of their commit were
// in the write-ahead log and a flush of it, begun after that, had returned.

/** `12 fdatasync(21</tmp/journal.db-wal>) = 0`; a call that another thread interrupts is two lines, `… <unfinished ...>` and
 *  `12 <... fdatasync resumed>) = 0`. */
const LINE = /^(?<pid>\d+)\s+(?:<\.\.\. (?<resumed>\w+) resumed>|(?<call>\w+)\((?<rest>.*))(?<tail>.*)$/s;
const COMMIT_ID = /trace-\d+-\d/g;

interface Log {
  /** Commits whose bytes are in the log but perhaps only in the cache of the operating system. */
  readonly written: Set<string>;
  readonly durable: Set<string>;
  /** By process id: the commits that a flush under way will have made durable when it returns. */
  readonly flushing: Map<string, ReadonlySet<string>>;
}

export interface FlushTrace {
  readonly acknowledged: readonly string[];
  readonly tooEarly: readonly string[];
}

export function readTrace(text: string): FlushTrace {
  const log: Log = { written: new Set(), durable: new Set(), flushing: new Map() };
  const acknowledged: string[] = [];
  const tooEarly: string[] = [];
  for (const line of text.split('\n')) {
    const { pid = '', call, resumed, rest = '' } = LINE.exec(line)?.groups ?? {};
    if (resumed === 'fdatasync' || resumed === 'fsync') endFlush(log, pid, line);
    if (call === 'fdatasync' || call === 'fsync') beginFlush(log, pid, rest);
    if (call === 'pwrite64' && isLog(rest)) for (const [id] of rest.matchAll(COMMIT_ID)) log.written.add(id);
    if (call !== 'write' || !/^1[<,]/.test(rest)) continue;
    for (const [, id = ''] of rest.matchAll(/ack (trace-\d+-\d)/g)) {
      acknowledged.push(id);
      if (!log.durable.has(id)) tooEarly.push(id);
    }
  }
  return { acknowledged, tooEarly };
}

const isLog = (rest: string): boolean => /^\d+<[^>]*-wal>/.test(rest);

function beginFlush(log: Log, pid: string, rest: string): void {
  if (!isLog(rest)) return;
  log.flushing.set(pid, new Set(log.written));
  if (!rest.endsWith('<unfinished ...>')) endFlush(log, pid, rest);
}

function endFlush(log: Log, pid: string, line: string): void {
  const flushed = log.flushing.get(pid) ?? new Set<string>();
  log.flushing.delete(pid);
  if (/= 0( |$)/.test(line)) for (const id of flushed) log.durable.add(id);
}
