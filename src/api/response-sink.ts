// A streamed answer to a reader that may be slow, with back-pressure. A reader that accepts nothing for a minute is disconnected, so
// that it does not occupy memory for ever.
import type { ServerResponse } from 'node:http';
import type { StreamSink } from '../access/index.ts';

const STALLED_MS = 60_000;

export class ResponseSink implements StreamSink {
  readonly #raw: ServerResponse;
  readonly #closed = new AbortController();
  /** An event may be sent in pieces: nothing else may come between them. */
  #isMidEvent = false;

  constructor(raw: ServerResponse) {
    this.#raw = raw;
    raw.once('close', () => this.#closed.abort());
    raw.once('error', () => this.#closed.abort());
  }

  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** Ends the stream from this side. */
  stop(): void {
    this.#closed.abort();
  }

  async send(text: string): Promise<boolean> {
    if (this.#closed.signal.aborted) return false;
    this.#isMidEvent = !text.endsWith('\n\n');
    if (this.#raw.write(text)) return true;
    await this.#waitForDrain();
    return !this.#closed.signal.aborted;
  }

  /** For a sign of life: skipped while the reader has not taken what it has. */
  sendIfIdle(text: string): void {
    if (this.#closed.signal.aborted || this.#isMidEvent || this.#raw.writableNeedDrain) return;
    this.#raw.write(text);
  }

  #waitForDrain(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#raw.destroy(), STALLED_MS);
      const finish = (): void => {
        clearTimeout(timer);
        this.#raw.off('drain', finish);
        this.#closed.signal.removeEventListener('abort', finish);
        resolve();
      };
      this.#raw.once('drain', finish);
      this.#closed.signal.addEventListener('abort', finish, { once: true });
    });
  }
}
