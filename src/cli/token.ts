// muster token: credentials and their roles. A secret is shown once, when the token is created.
import { Command, Option } from 'commander';
import { withAction, addExamples, commandGroup, type Cli } from './command.ts';
import { parseDuration, relativeTime } from './output/duration.ts';
import { omitUndefined } from './input/defined-fields.ts';
import type { TableColumn } from './output/table.ts';
import type { Token } from './client/representations.ts';

const TOKENS = '/api/v1/tokens';

export function tokenCommand(cli: Cli): Command {
  return commandGroup(
    'token',
    'Who may come in, and what they may do',
    listTokens(cli),
    createToken(cli),
    revokeToken(cli),
  );
}

function columns(nowMs: number): readonly TableColumn<Token>[] {
  return [
    { title: 'id', of: (token) => token.id, colour: 'bold' },
    { title: 'name', of: (token) => token.name },
    { title: 'role', of: (token) => token.role },
    { title: 'bound to', of: (token) => boundText(token) },
    { title: 'state', of: (token) => stateOf(token, nowMs) },
    { title: 'created', of: (token) => `${relativeTime(token.createdAtMs, nowMs)} by ${token.createdBy}` },
  ];
}

function boundText({ site, project, host, manager }: Token): string {
  const places = { site, project, host, manager };
  return Object.entries(places)
    .flatMap(([what, name]) => (name === undefined ? [] : [`${what} ${name}`]))
    .join(', ');
}

function stateOf({ revoked, consumed, expiresAtMs }: Token, nowMs: number): string {
  if (revoked !== undefined) return `revoked ${relativeTime(revoked.atMs, nowMs)}`;
  if (consumed !== undefined) return `used ${relativeTime(consumed.atMs, nowMs)}`;
  if (expiresAtMs === undefined) return 'good';
  return `${expiresAtMs <= nowMs ? 'expired' : 'good, expires'} ${relativeTime(expiresAtMs, nowMs)}`;
}

interface TokenListOptions {
  readonly role?: string;
  readonly all?: boolean;
}

function listTokens(cli: Cli): Command {
  const command = new Command('list')
    .alias('ls')
    .description('List tokens, without their secrets')
    .option('--role <role>', 'only viewer, operator, admin, agent, join or manager ones')
    .option('--all', 'also those that were revoked');
  addExamples(command, ['who is an admin', 'muster token list --role admin']);
  return withAction<TokenListOptions>(cli, command, async (session, { options: { role, all } }) => {
    const tokens = await session.client.list<Token>(TOKENS, { role, revoked: all === true ? undefined : false });
    await session.writeList(tokens, columns(session.nowMs()), 'No tokens.');
    return undefined;
  });
}

interface CreateOptions {
  readonly role: string;
  readonly site?: string;
  readonly project?: string;
  readonly host?: string;
  readonly manager?: string;
  readonly expires?: number;
}

function createToken(cli: Cli): Command {
  const command = new Command('create')
    .description('Make a token; its secret is shown now and never again')
    .argument('<name>', 'what the history shows as the author')
    .addOption(
      new Option(
        '--role <role>',
        'viewer: read; operator: run hosts, networks and instances; admin: settings, tokens and quotas too; join: an agent, once; manager: bare-metal nodes',
      )
        .choices(['viewer', 'operator', 'admin', 'join', 'manager'])
        .makeOptionMandatory(),
    )
    .option('--site <name>', 'sees and touches only this site')
    .option('--project <name>', 'sees and touches only what this project has')
    .option('--host <name>', 'the host that a token with the role join is for')
    .option('--manager <name>', 'the manager of bare-metal nodes that a token with the role manager is for')
    .option('--expires <time>', 'how long it is good for, such as 90d; for ever if not said', parseDuration);
  addExamples(
    command,
    ['for a dashboard', 'muster token create wallboard --role viewer --expires 365d'],
    ["a shop's own operator", 'muster token create shop-7 --role operator --site edge-7'],
    ["a project's own operator", 'muster token create acme-ops --role operator --project acme'],
  );
  return withAction<CreateOptions>(cli, command, async (session, { args: [name], options }) => {
    const { role, site, project, host, manager, expires } = options;
    const expiresAtMs = expires === undefined ? undefined : session.nowMs() + expires;
    const body = omitUndefined({ name, role, site, project, host, manager, expiresAtMs });
    const token = await session.client.write<Token>('POST', TOKENS, { body });
    if (session.output !== 'table') await session.writeValue(token);
    else {
      if (token.secret !== undefined) session.terminal.out(`${token.secret}\n`);
      session.note(token.note ?? `Token ${token.id} (${token.role}). Keep it: it is not shown again.`);
    }
    return undefined;
  });
}

function revokeToken(cli: Cli): Command {
  const command = new Command('revoke')
    .description('Revoke tokens: from now on they open nothing')
    .argument('<ids...>');
  addExamples(command, ['one token', 'muster token revoke tk-01jd8x2k9v7q3f5w2m1a']);
  return withAction(cli, command, async (session, { args }) => {
    for (const id of args) {
      const token = await session.client.write<Token>('DELETE', `${TOKENS}/${encodeURIComponent(id)}`);
      await session.reportDone(token, `Token ${id} (${token.name}) is revoked.`);
    }
    return undefined;
  });
}
