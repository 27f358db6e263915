// muster baremetal nodes import: enrols the machines of a file, a JSON object a line. What was interrupted is completed by repeating it.
import { Command } from 'commander';
import { addExamples, withAction, type Cli } from '../command.ts';
import { ApiRefusal } from '../client/problem.ts';
import type { EnrolledNodes } from '../client/representations.ts';
import { EXIT, CommandFailure, usage } from '../exit-code.ts';
import { sanitizeLine } from '../output/text-width.ts';
import type { Session } from '../session.ts';
import { readLineParts, type LinePart } from './line-source.ts';
import { NODES } from './node-text.ts';

/** A hundred thousand nodes take some seconds; a server that changes meanwhile has the call repeated. */
const CALL_TIMEOUT_MS = 10 * 60_000;
const PROGRESS_INTERVAL_MS = 2000;
const NEWLINE = 0x0a;

export function nodeImport(cli: Cli): Command {
  const command = new Command('import')
    .description('Enrol the machines of a file, one JSON object a line; each is as its line says afterwards')
    .argument('<file>', 'NDJSON; - for standard input');
  addExamples(
    command,
    ['a machine room', 'muster baremetal nodes import nodes.ndjson'],
    ['from another program', 'list-machines | muster baremetal nodes import -'],
  );
  return withAction(cli, command, async (session, { args: [path = ''], options }) => {
    const parts = await readLineParts(session.terminal, path);
    if (parts.length === 0) throw usage(`${path === '-' ? 'Standard input' : path} has no lines.`);
    const timeoutMs = Math.max(options.requestTimeout, CALL_TIMEOUT_MS);
    const counts = await importParts(session, parts, timeoutMs);
    await session.reportDone(counts, sentenceOf(counts));
    if (session.output === 'table')
      for (const { line, node, message } of counts.warnings)
        session.note(`line ${line}, ${sanitizeLine(node)}: ${sanitizeLine(message)}`);
    return undefined;
  });
}

type EnrolCounts = EnrolledNodes;

async function importParts(session: Session, parts: readonly LinePart[], timeoutMs: number): Promise<EnrolCounts> {
  const progress = new ImportProgress(
    session,
    parts.reduce((sum, { lines }) => sum + lines, 0),
  );
  const sum: { -readonly [K in keyof EnrolCounts]: EnrolCounts[K] } = {
    ...{ lines: 0, created: 0, revived: 0, changed: 0, unchanged: 0, warnings: [] },
  };
  try {
    for (const part of parts) {
      const counts = await importPart(session, part, { progress, timeoutMs });
      for (const name of ['lines', 'created', 'revived', 'changed', 'unchanged'] as const) sum[name] += counts[name];
      const before = part.firstLine - 1;
      sum.warnings = [...sum.warnings, ...counts.warnings.map((one) => ({ ...one, line: one.line + before }))];
    }
    return sum;
  } finally {
    progress.stop();
  }
}

interface ImportCall {
  readonly progress: ImportProgress;
  readonly timeoutMs: number;
}

async function importPart(session: Session, part: LinePart, { progress, timeoutMs }: ImportCall): Promise<EnrolCounts> {
  const signal = session.terminal.interruptSignal();
  const lines = (): AsyncIterable<Uint8Array> => progress.follow(part);
  try {
    return await session.client.sendLines<EnrolCounts>(`${NODES.path}/bulk`, { lines, signal, timeoutMs });
  } catch (error) {
    if (signal.aborted)
      throw new CommandFailure(
        EXIT.interrupted,
        'Interrupted. Repeat the import to complete it: what is done is left as it is.',
      );
    if (error instanceof ApiRefusal && part.firstLine > 1)
      session.note(`Lines are counted from line ${part.firstLine} of the file; those before it are enrolled.`);
    throw error;
  }
}

/** Says every two seconds how far it is. */
class ImportProgress {
  readonly #all: number;
  readonly #timer: NodeJS.Timeout;
  #before = 0;
  #sent = 0;

  constructor(session: Session, all: number) {
    this.#all = all;
    this.#timer = setInterval(() => session.note(this.text()), PROGRESS_INTERVAL_MS);
  }

  /** The same bytes, counted on their way. A part that is sent again is counted anew. */
  async *follow(part: LinePart): AsyncGenerator<Uint8Array> {
    this.#before = part.firstLine - 1;
    this.#sent = 0;
    for await (const chunk of part.read()) {
      for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, at + 1)) this.#sent += 1;
      yield chunk;
    }
    this.#sent = part.lines;
  }

  text(): string {
    const sent = this.#before + this.#sent;
    return sent < this.#all
      ? `${sent} of ${this.#all} lines are sent`
      : `all ${this.#all} lines are sent; the server checks and commits them`;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

function sentenceOf({ lines, created, revived, changed, unchanged }: EnrolCounts): string {
  const parts = [
    [created, 'created'],
    [revived, 'revived'],
    [changed, 'changed'],
    [unchanged, 'as they were'],
  ] as const;
  const countTexts = parts.filter(([count]) => count > 0).map(([count, word]) => `${count} ${word}`);
  return `${lines} ${lines === 1 ? 'node' : 'nodes'}: ${countTexts.join(', ')}.`;
}
