// A reader of server-sent events over a real socket.
import { get, type IncomingMessage } from 'node:http';

export interface Event {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
}

export interface Reader {
  readonly status: number;
  readonly body: () => Promise<string>;
  /** The next event; rejects when none comes in time or the stream has ended. */
  next(): Promise<Event>;
  /** Resolves when the server has ended the stream. */
  readonly ended: Promise<void>;
  /** Everything that came, comments included. */
  readonly raw: () => string;
  readonly lastId: () => string | undefined;
  pause(): void;
  resume(): void;
  close(): void;
}

const PATIENCE_MS = 10_000;

export async function openStream(url: string, headers: Record<string, string>): Promise<Reader> {
  const message = await new Promise<IncomingMessage>((resolve, reject) => {
    get(url, { headers }, resolve).on('error', reject);
  });
  return reader(message);
}

function reader(message: IncomingMessage): Reader {
  let text = '';
  let at = 0;
  let lastId: string | undefined;
  let wake: (() => void) | undefined;
  let over = false;
  message.setEncoding('utf8');
  message.on('data', (chunk: string) => {
    text += chunk;
    wake?.();
  });
  const ended = new Promise<void>((resolve) => {
    message.once('close', () => {
      over = true;
      wake?.();
      resolve();
    });
  });
  const take = (): Event | undefined => {
    for (let end = text.indexOf('\n\n', at); end !== -1; end = text.indexOf('\n\n', at)) {
      const lines = text.slice(at, end).split('\n');
      at = end + 2;
      const field = (name: string): string | undefined =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      lastId = field('id') ?? lastId;
      const data = field('data');
      if (data !== undefined) return { id: field('id'), event: field('event') ?? 'message', data };
    }
    return undefined;
  };
  const next = async (): Promise<Event> => {
    const until = Date.now() + PATIENCE_MS;
    for (;;) {
      const event = take();
      if (event !== undefined) return event;
      if (over) throw new Error('the stream has ended');
      if (Date.now() > until) throw new Error(`no event came; so far: ${text}`);
      await new Promise<void>((resolve) => {
        wake = resolve;
        setTimeout(resolve, 100);
      });
    }
  };
  return {
    status: message.statusCode ?? 0,
    next,
    ended,
    raw: () => text,
    lastId: () => {
      take();
      return lastId;
    },
    body: async () => {
      await ended;
      return text;
    },
    pause: () => void message.pause(),
    resume: () => void message.resume(),
    close: () => void message.destroy(),
  };
}
