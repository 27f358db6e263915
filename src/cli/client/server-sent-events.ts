// Server-sent events from a stream of bytes, as the HTML standard cuts them.

export interface ServerSentEvent {
  readonly event: string;
  readonly data: string;
  readonly id: string | undefined;
}

/** No event of a Muster server has a longer line. */
const BUFFER_MAX = 16 * 1024 * 1024;

export async function* eventsIn(stream: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSentEvent, void> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const bytes of stream) {
    text += decoder.decode(bytes, { stream: true });
    if (text.length > BUFFER_MAX) throw new Error('the stream does not hold events');
    const blocks = text.replaceAll('\r\n', '\n').split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const event = eventOf(block);
      if (event !== undefined) yield event;
    }
  }
}

/** Undefined for a comment: a sign of life. An id without data counts: it moves the position to resume from. */
function eventOf(block: string): ServerSentEvent | undefined {
  let event = 'message';
  let id: string | undefined;
  const data: string[] = [];
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':');
    const [field, value] = colon === -1 ? [line, ''] : [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')];
    if (field === 'event') event = value;
    else if (field === 'id') id = value;
    else if (field === 'data') data.push(value);
  }
  return data.length === 0 && id === undefined ? undefined : { event, data: data.join('\n'), id };
}
