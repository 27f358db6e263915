// muster keys show, create, rotate: the keys of a control plane, in the folder of a server on this machine. No request is sent to a server,
// and no key is ever shown.
import { Command } from 'commander';
import { withAction, addExamples, commandGroup, type Cli, type KeysSummary } from './command.ts';
import { sealingKeyCommands } from './sealing-keys.ts';
import { parseDuration } from './output/duration.ts';

interface ShowOptions extends KeyOptions {
  readonly tlsCert?: string;
}

interface KeyOptions {
  readonly keys?: string;
  readonly data: string;
}

export function keysCommand(cli: Cli): Command {
  return commandGroup(
    'keys',
    'Show, create and rotate the keys that servers sign with and issue certificates of agents with, and those that seal secrets',
    showCommand(cli),
    createCommand(cli),
    rotateCommand(cli),
    ...sealingKeyCommands(cli),
  );
}

const FOLDER: readonly [string, string] = ['--keys <folder>', 'where the keys are; else the data folder'];

function showCommand(cli: Cli): Command {
  const command = new Command('show')
    .description('Show which keys are in force, by their ids')
    .option(...FOLDER)
    .option('--tls-cert <path>', 'show the fingerprints of this certificate of the server as well, for agents');
  addExamples(
    command,
    ['of a server on this machine', 'muster keys show --keys /etc/muster/keys'],
    ['what agents can know the server by', 'muster keys show --tls-cert /etc/muster/cert.pem'],
  );
  return withAction<ShowOptions>(cli, command, async (session, { options }) => {
    const shown = await cli.node.showKeys(options.keys ?? options.data, options.tlsCert);
    if (session.output === 'table') session.terminal.out(keysText(shown));
    else await session.writeValue(shown);
    return undefined;
  });
}

function createCommand(cli: Cli): Command {
  const command = new Command('create')
    .description('Make keys where there are none: before the first start, or because they were lost for good')
    .option(...FOLDER);
  addExamples(command, ['in place of lost ones', 'muster keys create --keys /etc/muster/keys']);
  return withAction<KeyOptions>(cli, command, async (session, { options }) => {
    const shown = await cli.node.createKeys(options.keys ?? options.data);
    if (session.output === 'table') session.terminal.out(keysText(shown));
    else await session.writeValue(shown);
    session.note(`Copy ${shown.file} to all servers, then start them. If these keys replace lost ones: agents`);
    session.note(
      'on HTTPS learn them by themselves; those on plain HTTP believe no view until their hosts join again.',
    );
    return undefined;
  });
}

function rotateCommand(cli: Cli): Command {
  const command = new Command('rotate')
    .description('Make new keys; those before stay in force until every agent has learnt of the new ones')
    .option(...FOLDER)
    .option('--overlap <time>', 'how long the keys before stay in force', '7d');
  addExamples(command, ['then copy the file to the other servers', 'muster keys rotate --keys /etc/muster/keys']);
  return withAction<KeyOptions & { readonly overlap: string }>(cli, command, async (session, { options }) => {
    const folder = options.keys ?? options.data;
    const shown = await cli.node.rotateKeys(folder, parseDuration(options.overlap));
    if (session.output === 'table') session.terminal.out(keysText(shown));
    else await session.writeValue(shown);
    session.note(`A server that runs reads them within seconds. Copy ${shown.file} to the other servers now:`);
    session.note('until they have it, they sign with the keys before, which agents believe for the overlap only.');
    return undefined;
  });
}

function keysText({ file, serial, keys, server }: KeysSummary): string {
  const lines = keys.map(({ id, use, since, until }) => {
    const state = until === undefined ? 'current' : `in force until ${until}`;
    return `${id}  ${use.padEnd(18)}  since ${since}  ${state}`;
  });
  const text = `${file}, serial ${serial}\n${lines.join('\n')}\n`;
  if (server === undefined) return text;
  const { publicKey, certificate, expires } = server;
  return `${text}\n${server.file}, expires ${expires}\npublic key   ${publicKey}\ncertificate  ${certificate}\n`;
}
