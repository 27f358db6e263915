// How the changes of a commit lie in one column. The text is valid JSON, so that an operator can inspect it with SQL,
// but bodies are pasted in and cut out by their length: never parsed, never escaped, the same to the last character.
import type { TextChange } from './store.ts';

/** Kind, id, and the length of the body in UTF-16 units; null for a deletion. */
type ChangeSize = readonly [kind: string, id: string, chars: number | null];

// Unescaped quotes end a JSON string, so this cannot occur inside a kind or an id.
const BETWEEN = ',"bodies":[';

export function encodeChanges(changes: readonly TextChange[]): string {
  const entries = changes.map(({ kind, id, body }): ChangeSize => [kind, id, body === null ? null : body.length]);
  const bodies = changes.flatMap(({ body }) => (body === null ? [] : [body]));
  return `{"of":${JSON.stringify(entries)}${BETWEEN}${bodies.join(',')}]}`;
}

/** Which changes of a commit are to be read. */
export interface WantedChanges {
  readonly kind?: string;
  readonly id?: string;
}

/** Bodies that are not to be read are skipped by their length. */
export function decodeChanges(text: string, { kind: wantedKind, id: wantedId }: WantedChanges = {}): TextChange[] {
  const headEnd = text.indexOf(BETWEEN);
  let at = headEnd + BETWEEN.length;
  const changes: TextChange[] = [];
  for (const [kind, id, chars] of entriesIn(text, headEnd)) {
    const start = at;
    if (chars !== null) at += chars + 1; // the comma
    if ((wantedKind !== undefined && kind !== wantedKind) || (wantedId !== undefined && id !== wantedId)) continue;
    changes.push({ kind, id, body: chars === null ? null : text.slice(start, start + chars) });
  }
  return changes;
}

/** Which resources a commit touched, without cutting out the bodies. */
export function listTouchedResources(text: string): readonly (readonly [kind: string, id: string])[] {
  return entriesIn(text, text.indexOf(BETWEEN)).map(([kind, id]) => [kind, id]);
}

function entriesIn(text: string, headEnd: number): ChangeSize[] {
  return JSON.parse(text.slice('{"of":'.length, headEnd)) as ChangeSize[];
}
