// muster sites: places where hosts are.
import { Command } from 'commander';
import { withAction, addExamples, commandGroup, type Cli } from './command.ts';
import { relativeTime } from './output/duration.ts';
import {
  listChangedFacts,
  createOne,
  deleteCommand,
  listCommand,
  resourcePath,
  showCommand,
  type ResourceSpec,
} from './resource-commands.ts';
import { omitUndefined } from './input/defined-fields.ts';
import type { LabelledFacts } from './session.ts';
import type { TableColumn } from './output/table.ts';
import type { Site } from './client/representations.ts';

const SITES: ResourceSpec<Site> = {
  command: 'sites',
  kind: 'site',
  path: '/api/v1/sites',
  sample: 'edge-7',
  columns,
  facts,
};

export function sitesCommand(cli: Cli): Command {
  return commandGroup(
    'sites',
    'Places where hosts are, each its own failure domain',
    listCommand(cli, SITES, { empty: 'No sites.' }),
    showCommand(cli, SITES),
    createSite(cli),
    describeSite(cli),
    deleteCommand(cli, SITES, 'Delete sites that hold nothing any more'),
  );
}

function columns(nowMs: number): readonly TableColumn<Site>[] {
  return [
    { title: 'name', of: (site) => site.name, colour: 'bold' },
    { title: 'description', of: (site) => site.description },
    { title: 'changed', of: (site) => relativeTime(site.changedAtMs, nowMs) },
    { title: 'by', of: (site) => site.changedBy },
  ];
}

function facts(site: Site, nowMs: number): LabelledFacts {
  return [['Name', site.name], ['Description', site.description], ...listChangedFacts(site, nowMs)];
}

function createSite(cli: Cli): Command {
  const command = new Command('create')
    .description('Create a site')
    .argument('<name>')
    .option('--description <text>', 'what and where it is');
  addExamples(command, ['an edge site', 'muster sites create edge-7 --description "shop 7, no night staff"']);
  return withAction<{ readonly description?: string }>(cli, command, (session, { args: [name], options }) => {
    const body = omitUndefined({ name, description: options.description });
    return createOne(session, SITES, { body, sentence: (site) => `Site ${site.name} is created.` });
  });
}

function describeSite(cli: Cli): Command {
  const command = new Command('describe')
    .description('Change the description of a site')
    .argument('<name>')
    .argument('<description>', '"" takes it away');
  addExamples(command, ['say more', 'muster sites describe edge-7 "shop 7, second floor"']);
  return withAction(cli, command, async (session, { args: [name = '', description] }) => {
    const body = description === '' ? {} : { description };
    const site = await session.client.write<Site>('PATCH', resourcePath(SITES, name), { body });
    await session.writeOne(site, facts(site, session.nowMs()));
    return undefined;
  });
}
