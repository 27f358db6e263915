// `npm run lab`: brings a lab up, says how to look at it, waits for Ctrl-C, takes it away.
import { startStaticFlows } from './static-flows.ts';
import { checkLabRequirements } from './requirements.ts';
import { HELP, readOptions, type LabOptions } from './options.ts';
import { Muster } from './serve/muster.ts';
import { summarizeLab, renderSummary } from './lab-summary.ts';
import { waitForAbort, Interrupted, listenForInterrupt } from './interrupt.ts';
import { cleanDeadLabs } from './underlay/clean.ts';
import { Underlay } from './underlay/underlay.ts';

const say = (line: string): void => void process.stderr.write(`${line}\n`);

async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args);
  switch (options.kind) {
    case 'help':
      process.stdout.write(HELP);
      return 0;
    case 'refused':
      process.stderr.write(`${options.why}\n\n${HELP}`);
      return 2;
    case 'clean':
    case 'up': {
      const reason = await checkLabRequirements();
      if (reason === undefined) return options.kind === 'clean' ? clean() : up(options);
      say(reason);
      return 1;
    }
  }
}

async function clean(): Promise<number> {
  const cleared = await cleanDeadLabs();
  process.stdout.write(cleared.length === 0 ? 'nothing was left behind\n' : `cleared away: ${cleared.join(', ')}\n`);
  return 0;
}

async function up({ hosts, muster: withMuster, output }: Extract<LabOptions, { kind: 'up' }>): Promise<number> {
  const signal = listenForInterrupt();
  let underlay: Underlay | undefined;
  try {
    underlay = await Underlay.start({ hosts, say, signal });
    const muster = withMuster ? await Muster.start(underlay, { say, signal }) : undefined;
    const machines = withMuster ? [] : await startStaticFlows(underlay);
    const shown = summarizeLab({ underlay, machines, muster });
    process.stdout.write(output === 'json' ? `${JSON.stringify(shown)}\n` : renderSummary(shown));
    await waitForAbort(signal);
  } catch (error) {
    if (error instanceof Interrupted) return 0;
    say(`The lab does not come up: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  } finally {
    await underlay?.close();
    say('the lab is gone');
  }
  return 0;
}

process.exitCode = await main(process.argv.slice(2));
// Handlers for signals must not keep a finished run alive.
process.exit();
