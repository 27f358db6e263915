// The bytes of a body as they come, for bodies that are never kept whole. Too many, too slow, and cut before the end are problems; whoever reads
// may stop at any time, and can still be answered.
import type { IncomingMessage } from 'node:http';
import { HttpProblem } from '../problem.ts';

/** A sender that says nothing for so long is gone, or will never finish. */
const SILENT_MS_MAX = 10_000;

interface BodyStreamLimits {
  readonly bodyBytesMax: number;
  readonly bodyTimeMs: number;
}

/** Read once. */
export type BodyStream = AsyncGenerator<Uint8Array, void>;

export async function* readBody(
  raw: IncomingMessage,
  { bodyBytesMax, bodyTimeMs }: BodyStreamLimits,
  silentMsMax = SILENT_MS_MAX,
): BodyStream {
  if (Number(raw.headers['content-length'] ?? 0) > bodyBytesMax) throw tooLarge(bodyBytesMax);
  const untilMs = performance.now() + bodyTimeMs;
  // To destroy the stream would be to close the connection, on which the answer goes.
  const chunks = raw.iterator({ destroyOnReturn: false }) as AsyncIterator<Uint8Array, void>;
  let bytes = 0;
  try {
    for (;;) {
      const next = await nextInTime(chunks, Math.min(silentMsMax, untilMs - performance.now()));
      if (next.done === true) return;
      bytes += next.value.length;
      if (bytes > bodyBytesMax) throw tooLarge(bodyBytesMax);
      yield next.value;
    }
  } finally {
    // Not waited for: it ends with the bytes that it waits for.
    void discardRest(chunks, raw);
  }
}

/** What else comes is thrown away, so that a sender which reads its answer last finds it. */
async function discardRest(chunks: AsyncIterator<Uint8Array, void>, raw: IncomingMessage): Promise<void> {
  // The stream flows by itself only when it is not iterated over any more.
  await chunks.return?.();
  raw.resume();
}

async function nextInTime(
  chunks: AsyncIterator<Uint8Array, void>,
  ms: number,
): Promise<IteratorResult<Uint8Array, void>> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(tooSlow()), Math.max(0, ms));
  });
  try {
    return await Promise.race([chunks.next(), late]);
  } catch (error) {
    throw error instanceof HttpProblem ? error : cutOff(error);
  } finally {
    clearTimeout(timer);
  }
}

function tooLarge(bytesMax: number): HttpProblem {
  const detail = `The body is larger than this route takes: at most ${bytesMax} bytes. Nothing was changed. Send less at once.`;
  return new HttpProblem({ status: 413, code: 'body-too-large', detail });
}

function tooSlow(): HttpProblem {
  const detail =
    'The body did not come in the time that this server allows. Nothing was changed. Send it at once, on a new connection.';
  return new HttpProblem({ status: 408, code: 'request-too-slow', detail, headers: { connection: 'close' } });
}

/** The sender is gone, most of the time; a proxy in between may still get the answer. */
function cutOff(cause: unknown): HttpProblem {
  const detail = 'The body ended before it was whole. Nothing was changed. Send all of it again.';
  const problem = new HttpProblem({ status: 400, code: 'body-incomplete', detail });
  problem.cause = cause;
  return problem;
}
