// muster audit: exports who did what, and which requests were refused, for auditors.
import { Command } from 'commander';
import { jsonIn, notMusterFailure } from './client/answer-body.ts';
import { withAction, addExamples, commandGroup, type Cli } from './command.ts';
import { parseDuration } from './output/duration.ts';
import { EXIT, CommandFailure, usage } from './exit-code.ts';
import type { Session } from './session.ts';

interface ExportOptions {
  readonly since?: string;
  readonly until?: string;
}

/** The last line: without it the export is cut off. */
interface End {
  readonly type: 'end';
  readonly server: string;
  readonly commits: number;
  readonly refusals: number;
}

const PROGRESS_MS = 2000;
/** A commit has a thousand changes of some hundred bytes each. */
const LINE_LENGTH_MAX = 8 * 1024 * 1024;

export function auditCommand(cli: Cli): Command {
  return commandGroup('audit', 'Who did what, and who was refused', exportCommand(cli));
}

function exportCommand(cli: Cli): Command {
  const command = new Command('export')
    .description(
      'Write every commit and every refused request as JSON lines, oldest first. Refusals are those of the server that answers',
    )
    .option('--since <time>', 'only what is younger: 24h, or a time such as 2026-11-16T08:00:00Z')
    .option('--until <time>', 'only what is older, in the same forms');
  addExamples(
    command,
    ['the last day', 'muster audit export --since 24h > audit.jsonl'],
    ['who was refused', `muster audit export | grep '"type":"refusal"'`],
  );
  return withAction<ExportOptions>(cli, command, async (session, { options }) => {
    const nowMs = session.nowMs();
    const query = { sinceMs: parseTime(options.since, nowMs), untilMs: parseTime(options.until, nowMs) };
    const { sinceMs, untilMs } = query;
    if (sinceMs !== undefined && untilMs !== undefined && sinceMs >= untilMs)
      throw usage('--since has to be earlier than --until: nothing lies between them.');
    const signal = session.terminal.interruptSignal();
    const end = await copyLines(session, await session.client.stream('/api/v1/audit', { query, signal }), signal);
    if (signal.aborted) throw new CommandFailure(EXIT.interrupted, 'Interrupted: the export is not complete.');
    if (end === undefined) {
      throw new CommandFailure(
        EXIT.unreachable,
        'The export was cut off before its end. Run it again, or a shorter time of it.',
      );
    }
    session.note(`${end.commits} commits and ${end.refusals} lines of refusals, from ${end.server}.`);
    return undefined;
  });
}

function parseTime(text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{4}-\d\d-\d\d/.test(text)) {
    const atMs = Date.parse(text);
    if (Number.isNaN(atMs)) throw usage(`"${text}" is not a time. Write it like 2026-11-16T08:00:00Z, or like 24h.`);
    return atMs;
  }
  return Math.max(0, nowMs - parseDuration(text));
}

/** Writes lines as they come, whole ones only; answers the last one. */
async function copyLines(
  session: Session,
  stream: ReadableStream<Uint8Array>,
  signal: AbortSignal,
): Promise<End | undefined> {
  const decoder = new TextDecoder();
  let [rest, lines, saidAtMs, end]: [string, number, number, End | undefined] = ['', 0, session.nowMs(), undefined];
  try {
    for await (const chunk of stream) {
      const texts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
      rest = texts.pop() ?? '';
      if (rest.length > LINE_LENGTH_MAX) throw notMusterFailure(session.client.server, 'a line that is too long');
      if (texts.length === 0) continue;
      session.terminal.out(`${texts.join('\n')}\n`);
      lines += texts.length;
      end = parseEnd(texts.at(-1) ?? '');
      if (session.nowMs() - saidAtMs < PROGRESS_MS) continue;
      saidAtMs = session.nowMs();
      session.note(`${lines} lines so far`);
    }
  } catch (error) {
    // A connection that breaks is an export without an end.
    if (!(error instanceof Error) || (!signal.aborted && error.name !== 'TypeError')) throw error;
  }
  return end;
}

function parseEnd(text: string): End | undefined {
  return text.startsWith('{"type":"end",') ? (jsonIn(text) as End | undefined) : undefined;
}
