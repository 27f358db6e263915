// The command line of the test command.
import { parseArgs } from 'node:util';

const PARTS = ['checks', 'unit', 'real', 'sim', 'packets', 'kubernetes'] as const;

/** The static checks, or one of the vitest projects; `real` has `in-process` with it. */
export type TestPart = (typeof PARTS)[number];

export type TestOptions =
  | {
      readonly kind: 'run';
      readonly parts: readonly TestPart[];
      readonly filters: readonly string[];
      readonly hangGraceMs: number;
    }
  | { readonly kind: 'help' }
  | { readonly kind: 'refused'; readonly why: string };

const HANG_AFTER_SECONDS = '120';

export const HELP = `npm test [-- [--only PART] [FILTER...]]

Runs type check, lint, format check and dead-export check, then the unit, simulation and real suites.
The last line counts what passed, failed and was skipped.

  --only PART   only this part; may be repeated: ${PARTS.join(', ')}
  FILTER        only test files whose path contains it; leaves the checks out unless --only asks for them
  --hang-after SECONDS
                a test file of which nothing ended for so long beyond the limits of its tests is named and ended (${HANG_AFTER_SECONDS})
  --help        this text

The run as a whole has no time limit: each test and hook has its own.
With CI=true a suite whose real part (PostgreSQL, strace, Kubernetes) is missing fails; without, it is skipped with the reason.
`;

export function readOptions(args: readonly string[]): TestOptions {
  const parsed = parse(args);
  if (typeof parsed === 'string') return { kind: 'refused', why: parsed };
  if (parsed.values.help) return { kind: 'help' };
  const only = parsed.values.only ?? [];
  const unknown = only.find((part) => !isPart(part));
  if (unknown !== undefined) {
    return { kind: 'refused', why: `--only ${unknown}: there is no such part, only ${PARTS.join(', ')}` };
  }
  const hangAfter = parsed.values['hang-after'] ?? HANG_AFTER_SECONDS;
  if (!/^\d{1,5}$/.test(hangAfter)) {
    return { kind: 'refused', why: `--hang-after ${hangAfter}: give a whole number of seconds, such as 120` };
  }
  const filters = parsed.positionals;
  const request = only.filter(isPart);
  const all = filters.length > 0 ? PARTS.filter((part) => part !== 'checks') : PARTS;
  return { kind: 'run', parts: request.length > 0 ? request : all, filters, hangGraceMs: Number(hangAfter) * 1000 };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        only: { type: 'string', multiple: true },
        'hang-after': { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    // parseArgs throws for what the user typed, and its messages are made for the user.
    if (error instanceof TypeError) return error.message;
    throw error;
  }
}

function isPart(text: string): text is TestPart {
  return PARTS.some((part) => part === text);
}
