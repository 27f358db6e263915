import { describe, expect, test } from 'vitest';
import { eventsIn, type ServerSentEvent } from './server-sent-events.ts';

async function read(...chunks: readonly string[]): Promise<ServerSentEvent[]> {
  const encoder = new TextEncoder();
  async function* bytes() {
    for (const chunk of chunks) yield encoder.encode(chunk);
  }
  const found: ServerSentEvent[] = [];
  for await (const event of eventsIn(bytes())) found.push(event);
  return found;
}

describe('server-sent events', () => {
  const text =
    ': hello\n\nretry: 1000\nid: 4\nevent: open\ndata: {"revision":4}\n\nid: 5\nevent: commit\ndata: {"a":\ndata: "ü"}\n\nid: 6\n\n';
  const wanted = [
    { event: 'open', data: '{"revision":4}', id: '4' },
    { event: 'commit', data: '{"a":\n"ü"}', id: '5' },
    { event: 'message', data: '', id: '6' },
  ];

  test('events-are-cut-as-the-standard-says', async () => expect(await read(text)).toEqual(wanted));

  test('events-may-come-in-pieces, one character at a time', async () => {
    expect(await read(...text.split(''))).toEqual(wanted);
    expect(await read(...text.replaceAll('\n', '\r\n').split(''))).toEqual(wanted);
  });

  test('what-is-not-ended-is-not-an-event', async () => expect(await read('event: commit\ndata: {}\n')).toEqual([]));
});
