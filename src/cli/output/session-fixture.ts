// A session for tests, on a terminal that keeps what was written and a clock that the test steps.
import { Session, type OutputForm } from '../session.ts';
import { recordTerminal } from './recording-terminal-fixture.ts';
import type { Terminal } from './terminal.ts';

export interface SessionFixtureOptions extends Partial<Pick<Terminal, 'outIsTerminal' | 'interruptSignal'>> {
  readonly output?: OutputForm;
  readonly server?: string;
}

export class TestSession extends Session {
  readonly written: { out: string; err: string };
  /** What its clock shows. */
  clockMs = 1_790_000_000_000;

  constructor({ output = 'table', server, ...terminal }: SessionFixtureOptions = {}) {
    const recording = recordTerminal(terminal);
    const options = {
      output,
      color: false,
      data: 'data',
      requestTimeout: 10_000,
      ...(server !== undefined && { server }),
    };
    super(recording.terminal, options, { version: '1', isDataGiven: true });
    this.written = recording.written;
  }

  override nowMs(): number {
    return this.clockMs;
  }
}
