// The body of an answer. What answers at the given address need not be a Muster server, so the body is read up to a limit and accepted only
// as JSON of the expected form; nothing of it gets into an error message.
import { EXIT, CommandFailure } from '../exit-code.ts';

/** A page has at most 1,000 documents of at most 64 KiB; no answer of a server is longer. */
const BODY_BYTES_MAX = 96 * 1024 * 1024;

/** The whole text. Rejects with a `CommandFailure` when it is too long, and with what broke when it does not come to its end. */
export async function readText(response: Response, server: string): Promise<string> {
  const decoder = new TextDecoder();
  let [text, bytes] = ['', 0];
  const { body } = response as { readonly body: AsyncIterable<Uint8Array> | null };
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) throw notMusterFailure(server, 'an answer that is too long');
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

export function parseObject(text: string, server: string): object {
  const value = jsonIn(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw notMusterFailure(server, 'something that is not a JSON object');
  }
  return value;
}

export function isListOfObjects(value: unknown): value is readonly object[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'object' && one !== null);
}

/** Undefined for what is no JSON. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

export function notMusterFailure(server: string, what: string): CommandFailure {
  return new CommandFailure(
    EXIT.unreachable,
    `${server} answered with ${what}. Is that the address of a Muster server?`,
  );
}
