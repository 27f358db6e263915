// A body in lines, each a JSON text (NDJSON): read as it comes and checked line by line, with what is wrong by line and field. Nothing is kept of it
// but the values. Input is refused, never repaired.
import type { BodyLine, LineLimits } from '../../access/index.ts';
import type { SchemaProblem } from '../../fleet/index.ts';
import { HttpProblem } from '../problem.ts';
import { parseJson } from './json-body.ts';

/** A person fixes a few, then tries again: what comes after them is not read. */
const PROBLEMS_MAX = 10;
const NEWLINE = 0x0a;

export interface LineReading {
  readonly limits: LineLimits;
  readonly check: (value: unknown) => readonly SchemaProblem[];
}

/** All lines, or a problem that names those that are wrong. */
export async function readLines(body: AsyncIterable<Uint8Array>, reading: LineReading): Promise<readonly BodyLine[]> {
  const parser = new LineParser(reading);
  for await (const chunk of body) {
    parser.add(chunk);
    if (parser.isFull) break;
  }
  return parser.finish();
}

class LineParser {
  readonly #reading: LineReading;
  readonly #lines: BodyLine[] = [];
  readonly #problems: SchemaProblem[] = [];
  readonly #text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  /** The beginning of a line whose end has not come yet. */
  #rest: Uint8Array[] = [];
  #restBytes = 0;
  #count = 0;

  constructor(reading: LineReading) {
    this.#reading = reading;
  }

  /** As many problems as are reported: nothing that comes after them matters. */
  get isFull(): boolean {
    return this.#problems.length >= PROBLEMS_MAX;
  }

  add(chunk: Uint8Array): void {
    let from = 0;
    while (!this.isFull) {
      const end = chunk.indexOf(NEWLINE, from);
      if (end === -1) break;
      this.#end(chunk.subarray(from, end));
      from = end + 1;
    }
    if (from < chunk.length) this.#keep(chunk.subarray(from));
  }

  /** The last line needs no end. */
  finish(): readonly BodyLine[] {
    if (this.#restBytes > 0 && !this.isFull) this.#end(new Uint8Array());
    if (this.#problems.length > 0) throw badLines(this.#problems);
    if (this.#lines.length === 0) throw noLines();
    return this.#lines;
  }

  #keep(part: Uint8Array): void {
    this.#restBytes += part.length;
    if (this.#restBytes > this.#reading.limits.bytesMax) throw badLines([...this.#problems, this.#tooLong()]);
    // A copy: the chunk would be kept whole for its last few bytes.
    this.#rest.push(part.slice());
  }

  #end(last: Uint8Array): void {
    this.#count += 1;
    const { countMax, bytesMax } = this.#reading.limits;
    if (this.#count > countMax) throw tooManyLines(countMax);
    const bytes = this.#restBytes === 0 ? last : Buffer.concat([...this.#rest, last]);
    this.#rest = [];
    this.#restBytes = 0;
    if (bytes.length > bytesMax) this.#problems.push(this.#tooLong(this.#count));
    else this.#parse(bytes);
  }

  #parse(bytes: Uint8Array): void {
    const line = this.#count;
    try {
      const value = parseJson(this.#text.decode(bytes), 'line');
      if (value === undefined) return; // an empty line
      const problems = this.#reading.check(value);
      if (problems.length === 0) this.#lines.push({ line, value });
      else this.#report(problems, line);
    } catch (error) {
      this.#report([toProblem(error)], line);
    }
  }

  #report(problems: readonly SchemaProblem[], line: number): void {
    for (const { field, message } of problems) {
      if (!this.isFull) this.#problems.push({ field: `/lines/${line}${field}`, message });
    }
  }

  #tooLong(line = this.#count + 1): SchemaProblem {
    return { field: `/lines/${line}`, message: `is longer than ${this.#reading.limits.bytesMax} bytes` };
  }
}

function toProblem(error: unknown): SchemaProblem {
  // Without its full stop: it becomes a part of a sentence.
  if (error instanceof HttpProblem) return { field: error.field ?? '', message: error.message.replace(/\.$/, '') };
  if ((error as NodeJS.ErrnoException).code === 'ERR_ENCODING_INVALID_ENCODED_DATA')
    return { field: '', message: 'is not UTF-8' };
  throw error;
}

function badLines(problems: readonly SchemaProblem[]): HttpProblem {
  const [first] = problems;
  const text = problems.map(({ field, message }) => `${nameLine(field)} ${message}`).join('; ');
  return new HttpProblem({
    status: 400,
    code: 'malformed-line',
    detail: `The body has lines that are not as this route wants them, and nothing was changed: ${text}. Correct them and send all lines again.`,
    field: first?.field,
    problems,
    facts: { line: Number(first?.field.split('/')[2]) },
  });
}

/** `/lines/17/name` is "line 17: /name". */
function nameLine(field: string): string {
  const [, , line, ...inside] = field.split('/');
  return inside.length === 0 ? `line ${line}` : `line ${line}: /${inside.join('/')}`;
}

function tooManyLines(countMax: number): HttpProblem {
  const detail = `The body has more than ${countMax} lines, and nothing was changed. Send fewer at once, in several calls.`;
  return new HttpProblem({ status: 413, code: 'too-many-lines', detail });
}

function noLines(): HttpProblem {
  const detail = 'The body has no lines. Send one JSON object a line, as application/x-ndjson.';
  return new HttpProblem({ status: 400, code: 'malformed-body', detail });
}
