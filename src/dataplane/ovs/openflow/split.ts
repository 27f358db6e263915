// Splits at commas outside of quotes and parentheses.
import { BadFlowText } from './errors.ts';

const [QUOTE, OPEN, CLOSE, COMMA] = [34, 40, 41, 44];

/** The elements of a list; `whole` is shown in the error. */
export function split(text: string, whole: string): string[] {
  if (!text.includes(',')) return [text];
  const pieces: string[] = [];
  let [start, depth, quoted] = [0, 0, false];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code > COMMA || (code < OPEN && code !== QUOTE)) continue;
    if (code === QUOTE) quoted = !quoted;
    else if (quoted) continue;
    else if (code === OPEN) depth += 1;
    else if (code === CLOSE) depth -= 1;
    else if (code === COMMA && depth === 0) {
      pieces.push(text.slice(start, at));
      start = at + 1;
    }
  }
  if (depth !== 0 || quoted) throw new BadFlowText(`a quote or a parenthesis is not closed: "${whole}"`);
  pieces.push(text.slice(start));
  return pieces;
}
