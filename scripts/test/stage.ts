// One stage of the test command: says that it began, and how it went with its duration.
import { type TestTally, ONE_FAILED } from './tally.ts';

export async function stage(name: string, work: () => Promise<TestTally>): Promise<TestTally> {
  const startedAtMs = performance.now();
  say(`${name} ...`);
  const tally = await work().catch((error: unknown) => {
    console.error(error);
    return ONE_FAILED;
  });
  const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(1);
  say(`${name}: ${verdict(tally)} (${seconds} s)`);
  return tally;
}

export function say(line: string): void {
  process.stdout.write(`> ${line}\n`);
}

function verdict(tally: TestTally): string {
  if (tally.failed > 0) return 'FAILED';
  return tally.skips.length > 0 ? 'ok, with skips' : 'ok';
}
