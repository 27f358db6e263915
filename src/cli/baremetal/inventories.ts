// muster baremetal inventories: what knows the machines outside Muster, whether each answers, and when it was read.
import type { Command } from 'commander';
import { commandGroup, type Cli } from '../command.ts';
import { relativeTime } from '../output/duration.ts';
import { listCommand, showCommand, type ResourceSpec } from '../resource-commands.ts';
import type { Inventory } from '../client/representations.ts';

const CLAIMS = new Map<Inventory['claims'], string>([
  ['inline', 'in Muster itself'],
  ['endpoint', 'by its endpoint'],
  ['direct', 'on the node itself'],
]);

const INVENTORIES: ResourceSpec<Inventory> = {
  command: 'baremetal inventories',
  kind: 'inventory',
  path: '/api/v1/inventories',
  sample: 'ironic',
  columns: (nowMs) => [
    { title: 'inventory', of: (one) => one.id, colour: 'bold' },
    { title: 'answers', of: ({ unreachable }) => (unreachable === undefined ? 'yes' : 'no') },
    { title: 'read', of: ({ pass }) => pass && relativeTime(pass.endedAtMs, nowMs) },
    { title: 'nodes', of: ({ pass }) => pass?.nodes, align: 'right' },
    { title: 'claims', of: ({ claims }) => CLAIMS.get(claims) },
    { title: 'note', of: ({ unreachable }) => unreachable?.text },
  ],
  facts: ({ id, pass, claims, unreachable }, nowMs) => [
    ['Inventory', id],
    [
      'Answers',
      unreachable === undefined ? 'yes' : `no, since ${relativeTime(unreachable.sinceMs, nowMs)}: ${unreachable.text}`,
    ],
    ['Read', pass && `whole, ${relativeTime(pass.endedAtMs, nowMs)}: ${pass.nodes} nodes`],
    ['Claims', CLAIMS.get(claims)],
  ],
};

export function inventoryCommands(cli: Cli): Command {
  return commandGroup(
    'inventories',
    'What knows the machines outside Muster: whether it answers, and when it was read',
    listCommand(cli, INVENTORIES, {
      empty: 'No inventories outside Muster. Name one to the servers with: muster serve --ironic <url>',
      filters: [['--unreachable <yes>', 'only those that do not answer (true), or do (false)']],
      examples: [['those that do not answer', 'muster baremetal inventories list --unreachable true']],
    }),
    showCommand(cli, INVENTORIES),
  );
}
