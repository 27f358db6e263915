// muster sites: places where hosts are.
import { Command } from 'commander';
import { act, examples, group, type Cli } from './command.ts';
import { relative } from './duration.ts';
import {
  changedFacts,
  createOne,
  deleteCommand,
  listCommand,
  resourcePath,
  showCommand,
  type Changed,
  type Resource,
} from './resource-commands.ts';
import { said } from './said.ts';
import type { Facts } from './session.ts';
import type { Column } from './table.ts';

interface Site extends Changed {
  readonly name: string;
  readonly description?: string;
}

const SITES: Resource<Site> = {
  command: 'sites',
  kind: 'site',
  path: '/api/v1/sites',
  sample: 'edge-7',
  columns,
  facts,
};

export function sitesCommand(cli: Cli): Command {
  return group(
    'sites',
    'Places where hosts are, each its own failure domain',
    listCommand(cli, SITES, { empty: 'No sites.' }),
    showCommand(cli, SITES),
    createSite(cli),
    describeSite(cli),
    deleteCommand(cli, SITES, 'Delete sites that hold nothing any more'),
  );
}

function columns(nowMs: number): readonly Column<Site>[] {
  return [
    { title: 'name', of: (site) => site.name, colour: 'bold' },
    { title: 'description', of: (site) => site.description },
    { title: 'changed', of: (site) => relative(site.changedAtMs, nowMs) },
    { title: 'by', of: (site) => site.changedBy },
  ];
}

function facts(site: Site, nowMs: number): Facts {
  return [['Name', site.name], ['Description', site.description], ...changedFacts(site, nowMs)];
}

function createSite(cli: Cli): Command {
  const command = new Command('create')
    .description('Create a site')
    .argument('<name>')
    .option('--description <text>', 'what and where it is');
  examples(command, ['an edge site', 'muster sites create edge-7 --description "shop 7, no night staff"']);
  return act<{ readonly description?: string }>(cli, command, (session, { args: [name], options }) => {
    const body = said({ name, description: options.description });
    return createOne(session, SITES, { body, sentence: (site) => `Site ${site.name} is created.` });
  });
}

function describeSite(cli: Cli): Command {
  const command = new Command('describe')
    .description('Change the description of a site')
    .argument('<name>')
    .argument('<description>', '"" takes it away');
  examples(command, ['say more', 'muster sites describe edge-7 "shop 7, second floor"']);
  return act(cli, command, async (session, { args: [name = '', description] }) => {
    const body = description === '' ? {} : { description };
    const site = await session.client.write<Site>('PATCH', resourcePath(SITES, name), { body });
    await session.one(site, facts(site, session.nowMs()));
    return undefined;
  });
}
