// The last of what a machine wrote: secrets are taken out also where they come in pieces, and nothing in it moves a terminal or makes a document too large.
import type { SecretMask } from '../../../access/index.ts';
import { LOG_BYTES_MAX, type ScriptOutput } from '../reach.ts';

/** Beyond what is kept, before anything is dropped: to look for secrets costs the same for few characters and for many. */
const DROP_AT_CHARS = 256 * 1024;

export class OutputTail {
  readonly #mask: SecretMask;
  readonly #decoder = new TextDecoder();
  #text = '';
  #isCut = false;
  #bytes = 0;

  constructor(mask: SecretMask) {
    this.#mask = mask;
  }

  /** Of all that came. */
  get bytes(): number {
    return this.#bytes;
  }

  append(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    this.#text += this.#decoder.decode(chunk, { stream: true });
    const keep = LOG_BYTES_MAX + this.#mask.longestForm;
    if (this.#text.length <= keep + DROP_AT_CHARS) return;
    // Masked before the cut, which could leave part of a secret; what is last, and may be the first part of one, stays.
    this.#text = this.#mask.mask(this.#text).slice(-keep);
    this.#isCut = true;
  }

  render(): ScriptOutput {
    const whole = escapeControls(this.#mask.mask(this.#text));
    const text = takeLastBytes(whole, LOG_BYTES_MAX);
    return { text, isCut: this.#isCut || text.length < whole.length };
  }
}

// A text of these would be six times as long in JSON, and a terminal would obey it.
const CONTROLS = new RegExp(
  String.raw`[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u206F]`,
  'gu',
);

/** What a peer says, as it may be kept and shown. A bare carriage return, by which progress is drawn, begins a line. */
export function escapeControls(text: string): string {
  const lines = text.toWellFormed().replaceAll(/\r+\n?/g, '\n');
  return lines.replaceAll(CONTROLS, (one) => String.raw`\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function takeLastBytes(text: string, max: number): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= max) return text;
  let from = bytes.length - max;
  // Not amid a character.
  while (((bytes[from] ?? 0) & 0xc0) === 0x80) from += 1;
  return bytes.subarray(from).toString('utf8');
}
