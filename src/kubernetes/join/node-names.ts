// How new Nodes are named: a base that says what they are, and digits of an id. Kubernetes takes DNS labels alone, and an instance has the name of its Node.

/** Of a DNS label. */
const LENGTH_MAX = 63;
/** So many are unique in practice; a collision takes more. */
const DIGITS_MIN = 8;

export interface NodeNaming {
  readonly base: string;
  /** Its last digits are the ones that differ most. */
  readonly id: string;
  readonly isTaken: (name: string) => boolean;
}

/** Undefined when every form of it is taken. */
export function composeNodeName({ base, id, isTaken }: NodeNaming): string | undefined {
  const digits = toLabelCharacters(id).replaceAll('-', '');
  for (let count = Math.min(DIGITS_MIN, digits.length); count <= digits.length; count += 1) {
    const suffix = digits.slice(-count);
    const stem = trimHyphens(toLabelCharacters(base).slice(0, LENGTH_MAX - suffix.length - 1));
    const name = stem === '' ? suffix : `${stem}-${suffix}`;
    if (!isTaken(name)) return name;
  }
  return undefined;
}

function toLabelCharacters(text: string): string {
  return text.toLowerCase().replaceAll(/[^a-z0-9-]/g, '-');
}

function trimHyphens(text: string): string {
  return text.replace(/^-+/, '').replace(/-+$/, '');
}
