// How the changes of a commit lie in one column. The text is valid JSON, so that an operator can look into it with SQL,
// but bodies are pasted in and cut out by their length: never parsed, never escaped, the same to the last character.
import type { TextChange } from './store.ts';

/** Kind, id, and the length of the body in UTF-16 units; null for a deletion. */
type Entry = readonly [kind: string, id: string, chars: number | null];

// Unescaped quotes end a JSON string, so this cannot occur inside a kind or an id.
const BETWEEN = ',"bodies":[';

export function encodeChanges(changes: readonly TextChange[]): string {
  const entries = changes.map(({ kind, id, body }): Entry => [kind, id, body === null ? null : body.length]);
  const bodies = changes.flatMap(({ body }) => (body === null ? [] : [body]));
  return `{"of":${JSON.stringify(entries)}${BETWEEN}${bodies.join(',')}]}`;
}

export function decodeChanges(text: string): TextChange[] {
  const headEnd = text.indexOf(BETWEEN);
  let at = headEnd + BETWEEN.length;
  return entriesIn(text, headEnd).map(([kind, id, chars]) => {
    if (chars === null) return { kind, id, body: null };
    const body = text.slice(at, at + chars);
    at += chars + 1; // the comma
    return { kind, id, body };
  });
}

/** Which resources a commit touched, without cutting out the bodies. */
export function touchedBy(text: string): readonly (readonly [kind: string, id: string])[] {
  return entriesIn(text, text.indexOf(BETWEEN)).map(([kind, id]) => [kind, id]);
}

function entriesIn(text: string, headEnd: number): Entry[] {
  return JSON.parse(text.slice('{"of":'.length, headEnd)) as Entry[];
}
