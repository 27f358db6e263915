// The line of a script's output that says what went wrong. What comes last is advice, mostly: of flags to try, or of where to read on.
const LINE_MAX = 300;

/** The likeliest first. */
const ERRORS: readonly RegExp[] = [
  // As kubeadm marks what a check has found.
  /\[ERROR /,
  /^\s*(?:\S+: )*(?:error|fatal|E)\b/i,
  /\b(?:error|fatal|failed|cannot)\b/i,
];

/** The first that says so; the last where none does. */
export function findErrorLine(text: string): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  for (const says of ERRORS) {
    const found = lines.find((line) => says.test(line));
    if (found !== undefined) return shorten(found);
  }
  return shorten(lines.at(-1) ?? '');
}

function shorten(line: string): string {
  return line.trim().slice(0, LINE_MAX);
}
