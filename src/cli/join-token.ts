// muster hosts join-token, baremetal managers join-token: a one-time token, shown once, and how to start the program that joins with it.
import { Command } from 'commander';
import { addExamples, withAction, type Cli } from './command.ts';
import type { JoinToken } from './client/representations.ts';
import { parseDuration, relativeTime } from './output/duration.ts';

interface JoinTokenSpec {
  readonly about: string;
  /** What the argument names. */
  readonly whom: string;
  readonly example: readonly [string, string];
  readonly pathOf: (name: string) => string;
  /** Where the command line is to be run, and what follows the token in it. */
  readonly where: string;
  readonly start: (name: string, server: string) => string;
  /** What else is said after it. */
  readonly notes?: readonly string[];
}

const SERVER_WITHOUT_AUTHORITY =
  'If no authority that the host trusts has signed the certificate of the server, add --ca, or --server-fingerprint as its log or "muster keys show --tls-cert" says.';

export function joinTokenCommand(cli: Cli, spec: JoinTokenSpec): Command {
  const command = new Command('join-token')
    .description(spec.about)
    .argument('<name>', spec.whom)
    .option('--expires <time>', 'how long it is good for', '24h');
  const [text, example] = spec.example;
  addExamples(command, [text, example]);
  return withAction<{ readonly expires: string }>(cli, command, async (session, { args: [name = ''], options }) => {
    const body = { lifetimeMs: parseDuration(options.expires) };
    const token = await session.client.write<JoinToken>('POST', `${spec.pathOf(name)}/join-token`, { body });
    if (session.output !== 'table') await session.writeValue(token);
    else {
      const { server } = session.client;
      session.terminal.out(`${token.secret ?? ''}\n`);
      if (token.note !== undefined) session.note(token.note);
      const until =
        token.expiresAtMs === undefined ? '' : ` It expires ${relativeTime(token.expiresAtMs, session.nowMs())}.`;
      session.note(`Shown once, good for one join of ${name}.${until} ${spec.where}, run:`);
      session.note(`  MUSTER_JOIN_TOKEN=<token> ${spec.start(name, server)}`);
      if (server.startsWith('https:')) session.note(SERVER_WITHOUT_AUTHORITY);
      for (const note of spec.notes ?? []) session.note(note);
    }
    return undefined;
  });
}
