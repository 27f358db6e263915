// What a command works with: the API client, and output in the requested form (table, JSON, YAML).
import { isLoopback } from '../api/index.ts';
import { Client } from './client/client.ts';
import { hasControls } from './output/escape.ts';
import { usage } from './exit-code.ts';
import { painter, wantsColours, type Paint } from './output/paint.ts';
import { renderFacts, renderTable, type TableColumn } from './output/table.ts';
import type { Terminal } from './output/terminal.ts';
import { findToken, tokenAdvice } from './client/token-file.ts';

export type OutputForm = 'table' | 'json' | 'yaml';

/** The options that every command understands. */
export interface GlobalOptions {
  readonly server?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly data: string;
  readonly output: OutputForm;
  readonly color: boolean;
  /** In milliseconds. */
  readonly requestTimeout: number;
  readonly verbose?: boolean;
}

export const DEFAULT_SERVER = 'http://127.0.0.1:7070';

export type LabelledFacts = readonly (readonly [name: string, value: string | undefined])[];

export class Session {
  readonly client: Client;
  readonly terminal: Terminal;
  readonly output: OutputForm;
  /** Colours standard output. */
  readonly paint: Paint;
  /** Colours standard error. */
  readonly paintNotes: Paint;

  constructor(
    terminal: Terminal,
    options: GlobalOptions,
    about: { readonly version: string; readonly isDataGiven: boolean },
  ) {
    this.terminal = terminal;
    this.output = options.output;
    const { color: option } = options;
    this.paint = painter(wantsColours({ terminal: terminal.outIsTerminal, option, env: terminal.env }));
    this.paintNotes = painter(wantsColours({ terminal: terminal.errIsTerminal, option, env: terminal.env }));
    const server = serverAddress(options.server ?? terminal.env['MUSTER_SERVER'] ?? DEFAULT_SERVER);
    const mayReadDataFolder = about.isDataGiven || isLoopback(server.hostname);
    this.client = new Client({
      server: server.href.replace(/\/$/, ''),
      token: findToken({ ...options, env: terminal.env, mayReadDataFolder }),
      tokenAdvice: () => tokenAdvice({ data: options.data, mayReadDataFolder }),
      timeoutMs: options.requestTimeout,
      userAgent: `muster/${about.version}`,
      ...(options.verbose === true && { trace: (line: string) => this.note(this.paintNotes('dim', line)) }),
    });
  }

  nowMs(): number {
    return Date.now();
  }

  /** A line beside the result. */
  note(text: string): void {
    this.terminal.err(`${text}\n`);
  }

  async writeList<R>(rows: readonly R[], columns: readonly TableColumn<R>[], empty: string): Promise<void> {
    if (this.output !== 'table') return this.writeValue(rows);
    if (rows.length === 0) this.note(empty);
    else this.terminal.out(renderTable(rows, columns, this.paint));
  }

  /** One resource: as facts for people, whole for programs. */
  async writeOne(value: object, facts: LabelledFacts): Promise<void> {
    if (this.output !== 'table') return this.writeValue(value);
    this.terminal.out(renderFacts(facts, this.paint));
  }

  /** A sentence that says what was done, for people; what it left behind, for programs. */
  async reportDone(value: object, sentence: string): Promise<void> {
    if (this.output !== 'table') return this.writeValue(value);
    this.terminal.out(`${sentence}\n`);
  }

  /** The same for several things: a sentence each, or all of them as one list. */
  async reportAllDone(values: readonly object[], sentences: readonly string[]): Promise<void> {
    if (this.output !== 'table') return this.writeValue(values);
    for (const sentence of sentences) this.terminal.out(`${sentence}\n`);
  }

  async writeValue(value: unknown): Promise<void> {
    if (this.output !== 'yaml') {
      this.terminal.out(`${JSON.stringify(value, null, 2)}\n`);
      return;
    }
    this.terminal.out(await toYaml(value));
  }

  /** One of many values that come one after the other: a line each, or a YAML document each. */
  async writeEvent(value: unknown): Promise<void> {
    if (this.output === 'yaml') {
      this.terminal.out('---\n');
      return this.writeValue(value);
    }
    this.terminal.out(`${JSON.stringify(value)}\n`);
  }
}

/** Only in double quotes does an escape mean the character that it stands for. */
async function toYaml(value: unknown): Promise<string> {
  const { Document, visit } = await import('yaml');
  const document = new Document(value);
  visit(document, {
    Scalar: (_, scalar) => {
      if (typeof scalar.value === 'string' && hasControls(scalar.value)) scalar.type = 'QUOTE_DOUBLE';
    },
  });
  return document.toString();
}

function serverAddress(text: string): URL {
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw usage(`"${text}" is not the address of a server. Write it like ${DEFAULT_SERVER}.`);
  }
  // Not repeated in the sentence: it may be a password.
  if (url.username !== '' || url.password !== '') {
    throw usage(
      `The address of a server has no user or password in it. Write it like ${DEFAULT_SERVER}, and give a token with --token-file.`,
    );
  }
  return url;
}
