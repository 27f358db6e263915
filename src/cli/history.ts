// muster history: who changed what, when and why.
import { Command } from 'commander';
import { isListOfObjects, notMusterFailure } from './client/answer-body.ts';
import { withAction, addExamples, type Cli } from './command.ts';
import { commitLines } from './output/commit-text.ts';
import { relativeTime } from './output/duration.ts';
import { ApiRefusal } from './client/problem.ts';
import { EXIT, CommandFailure, usage } from './exit-code.ts';
import { wholeNumber } from './input/input-file.ts';
import type { Session } from './session.ts';
import type { Commit } from './client/representations.ts';

interface HistoryOptions {
  readonly operation?: string;
  readonly kind?: string;
  readonly limit: number;
  readonly before?: number;
}

interface CommitPage {
  readonly items: readonly Commit[];
  readonly next?: number;
}

const PAGE_MAX = 500;

export function historyCommand(cli: Cli): Command {
  const command = new Command('history')
    .description('Show who changed what, when and why, newest first')
    .argument('[resource]', 'one resource, as kind/id, such as host/compute-1')
    .option('--operation <id>', 'only what this operation did')
    .option('--kind <kind>', 'only changes of this kind')
    .option('--before <revision>', 'only what is older than this revision', wholeNumber)
    .option('--limit <count>', 'at most so many commits', wholeNumber, 20);
  addExamples(
    command,
    ['one host, field by field', 'muster history host/compute-1'],
    ['what an operation did', 'muster history --operation op-01jd8x2k9v7q3f5w2m1a'],
  );
  return withAction<HistoryOptions>(cli, command, async (session, { args: [resource], options }) => {
    const [kind, id] = resource === undefined ? [options.kind, undefined] : parseResource(resource);
    const commits = await readHistory(session, { ...options, kind, id });
    if (session.output !== 'table') await session.writeValue(commits);
    else if (commits.length === 0) await reportNothing(session, resource);
    else {
      const nowMs = session.nowMs();
      for (const commit of commits) {
        const lines = commitLines(commit, session.paint, relativeTime(commit.atMs, nowMs));
        session.terminal.out(`${lines.join('\n')}\n`);
      }
    }
    return undefined;
  });
}

/** A mistyped name must not read like a resource of which nothing is kept. */
async function reportNothing(session: Session, resource: string | undefined): Promise<void> {
  if (resource !== undefined && !(await mayBeThere(session, parseResource(resource)))) {
    const found = `There is no ${resource} that you can see, and no history of one is kept. Check the kind and the name.`;
    throw new CommandFailure(EXIT.refused, found);
  }
  session.note('Nothing that is still kept.');
}

/** True also where the caller may not read it. */
async function mayBeThere({ client }: Session, [kind, id]: readonly [string, string]): Promise<boolean> {
  try {
    return (await client.find(`/api/v1/${kind}s/${encodeURIComponent(id)}`)) !== undefined;
  } catch (error) {
    if (error instanceof ApiRefusal) return true;
    throw error;
  }
}

function parseResource(text: string): [kind: string, id: string] {
  const [, kind, id] = /^([a-z-]+)\/(.+)$/.exec(text) ?? [];
  if (kind === undefined || id === undefined)
    throw usage(`"${text}" is not of the form kind/id, such as host/compute-1.`);
  return [kind, id];
}

type HistoryFilter = Omit<HistoryOptions, 'kind'> & {
  readonly kind: string | undefined;
  readonly id: string | undefined;
};

async function readHistory({ client }: Session, wanted: HistoryFilter): Promise<Commit[]> {
  const { kind, id, operation, limit } = wanted;
  const found: Commit[] = [];
  let { before } = wanted;
  do {
    const query = { kind, id, operation, before, limit: Math.min(PAGE_MAX, limit - found.length) };
    const page: CommitPage = await client.get('/api/v1/history', query);
    if (!isListOfObjects(page.items)) throw notMusterFailure(client.server, 'a page that holds no list');
    if (page.next !== undefined && page.next >= (before ?? Infinity)) {
      throw notMusterFailure(client.server, 'pages that lead back to themselves');
    }
    found.push(...page.items);
    before = page.next;
  } while (before !== undefined && found.length < limit);
  return found;
}
