// muster version: which version of the program this is, and of Node.
import { Command } from 'commander';
import { withAction, type Cli } from './command.ts';

export function versionCommand(cli: Cli): Command {
  return withAction(cli, new Command('version').description('Show the version of this program'), async (session) => {
    const node = process.versions.node;
    await session.reportDone({ version: cli.version, node }, `muster ${cli.version} (Node ${node})`);
    return undefined;
  });
}
