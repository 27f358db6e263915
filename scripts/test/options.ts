// The command line of the test command.
import { parseArgs } from 'node:util';

const PARTS = ['checks', 'unit', 'real', 'sim', 'packets'] as const;

/** The static checks, or one of the vitest projects. */
export type Part = (typeof PARTS)[number];

export type Options =
  | { readonly kind: 'run'; readonly parts: readonly Part[]; readonly filters: readonly string[] }
  | { readonly kind: 'help' }
  | { readonly kind: 'refused'; readonly why: string };

export const HELP = `npm test [-- [--only PART] [FILTER...]]

Runs type check, lint, format check and dead-export check, then the unit, simulation and real suites.
The last line counts what passed, failed and was skipped.

  --only PART   only this part; may be repeated: ${PARTS.join(', ')}
  FILTER        only test files whose path contains it; leaves the checks out unless --only asks for them
  --help        this text

With CI=true a suite whose real part (PostgreSQL, strace) is missing fails; without, it is skipped with the reason.
`;

export function readOptions(args: readonly string[]): Options {
  const parsed = parse(args);
  if (typeof parsed === 'string') return { kind: 'refused', why: parsed };
  if (parsed.values.help) return { kind: 'help' };
  const only = parsed.values.only ?? [];
  const unknown = only.find((part) => !isPart(part));
  if (unknown !== undefined) {
    return { kind: 'refused', why: `--only ${unknown}: there is no such part, only ${PARTS.join(', ')}` };
  }
  const filters = parsed.positionals;
  const asked = only.filter(isPart);
  const all = filters.length > 0 ? PARTS.filter((part) => part !== 'checks') : PARTS;
  return { kind: 'run', parts: asked.length > 0 ? asked : all, filters };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { only: { type: 'string', multiple: true }, help: { type: 'boolean', short: 'h', default: false } },
    });
  } catch (error) {
    // parseArgs throws for what the user typed, and its messages are made for the user.
    if (error instanceof TypeError) return error.message;
    throw error;
  }
}

function isPart(text: string): text is Part {
  return PARTS.some((part) => part === text);
}
