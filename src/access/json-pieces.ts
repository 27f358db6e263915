// JSON text a piece at a time, for answers as large as the fleet. The text is the same that JSON.stringify would make of the whole.

/** A list in an answer whose entries are made while it is sent. */
export class LazyList {
  readonly entries: Iterable<unknown>;

  constructor(entries: Iterable<unknown>) {
    this.entries = entries;
  }
}

/** Each entry of a lazy list is one piece; what is around them is in small ones. */
export function* jsonPieces(value: unknown): Generator<string, void> {
  if (value instanceof LazyList) yield* listPieces(value.entries, JSON.stringify);
  else if (Array.isArray(value)) yield* listPieces(value, jsonPieces);
  else if (typeof value !== 'object' || value === null) yield JSON.stringify(value);
  else {
    let before = '{';
    for (const [name, field] of Object.entries(value)) {
      if (field === undefined) continue;
      yield `${before}${JSON.stringify(name)}:`;
      yield* jsonPieces(field);
      before = ',';
    }
    yield before === '{' ? '{}' : '}';
  }
}

function* listPieces(
  entries: Iterable<unknown>,
  textOf: (entry: unknown) => string | Iterable<string>,
): Generator<string, void> {
  let before = '[';
  for (const entry of entries) {
    const text = textOf(entry);
    if (typeof text === 'string') yield before + text;
    else {
      yield before;
      yield* text;
    }
    before = ',';
  }
  yield before === '[' ? '[]' : ']';
}
