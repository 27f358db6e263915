// Finds duplicate keys in a JSON text. `JSON.parse` silently keeps the last one, so the intended value may be lost.
// Detection compares a count of colons with a count of fields; which key it is, is searched for only in a refusal.

/** How many fields a value has, at all depths: as many as its text has colons outside strings, if none is there twice. */
export function countFields(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const one of value) if (typeof one === 'object') count += countFields(one);
    return count;
  }
  // Nothing is inherited here: these objects come from `JSON.parse`.
  for (const name in value) {
    count += 1;
    const inner = (value as Readonly<Record<string, unknown>>)[name];
    if (typeof inner === 'object') count += countFields(inner);
  }
  return count;
}

/** An object or a list that is open while a text is read. */
interface OpenContainer {
  /** Undefined for a list. */
  readonly names?: Set<string>;
  /** Where we are in it. */
  at: string | number;
}

const STRING = /"(?:[^"\\]|\\.)*"/y;
const COLON = /\s*:/y;

/** A JSON pointer to the first field that is there twice; undefined when none is. The text is JSON. */
export function findDuplicateField(text: string): string | undefined {
  const open: OpenContainer[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const inside = open.at(-1);
    switch (text[at]) {
      case '{':
        open.push({ names: new Set(), at: '' });
        break;
      case '[':
        open.push({ at: 0 });
        break;
      case '}':
      case ']':
        open.pop();
        break;
      case ',':
        if (typeof inside?.at === 'number') inside.at += 1;
        break;
      case '"': {
        const quoted = matchAt(STRING, text, at);
        const isName = inside?.names !== undefined && matchAt(COLON, text, at + quoted.length) !== '';
        if (isName && recordName(inside, quoted)) return pointerTo(open);
        at += quoted.length - 1;
        break;
      }
      default:
    }
  }
  return undefined;
}

/** True when the name was there before. */
function recordName(inside: OpenContainer, quoted: string): boolean {
  const name = JSON.parse(quoted) as string;
  inside.at = name;
  if (inside.names?.has(name) === true) return true;
  inside.names?.add(name);
  return false;
}

function matchAt(form: RegExp, text: string, at: number): string {
  form.lastIndex = at;
  return form.exec(text)?.[0] ?? '';
}

function pointerTo(open: readonly OpenContainer[]): string {
  return open.map(({ at }) => `/${String(at).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
