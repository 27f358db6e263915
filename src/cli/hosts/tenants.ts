// muster hosts tenants: what lives on a host, and what an evacuation would do with each of it now.
import { Command } from 'commander';
import { withAction, addExamples, type Cli } from '../command.ts';
import { hostPath } from './host-text.ts';
import { wholeNumber } from '../input/input-file.ts';
import type { TableColumn } from '../output/table.ts';
import type { HostTenants } from '../client/representations.ts';

type Tenant = HostTenants['tenants'][number];

const COLUMNS: readonly TableColumn<Tenant>[] = [
  { title: 'kind', of: (tenant) => tenant.kind },
  { title: 'name', of: (tenant) => tenant.id, colour: 'bold' },
  { title: 'an evacuation would', of: evacuationText },
];

function evacuationText({ evacuation: { kind, how, to, sentence } }: Tenant): string {
  const where = to === undefined ? '' : ` to ${to}`;
  switch (kind) {
    case 'move':
      return how === 'handover'
        ? `move it by a handover${where}`
        : `move it${how === undefined ? '' : ` ${how}`}${where}`;
    case 'drain':
      return 'drain it: what lives in it leaves';
    case 'rebuild':
      return `rebuild it${to === undefined ? ' elsewhere' : ` on ${to}`}`;
    case 'ends':
      return 'let it end with the host: no other host has presence';
    case 'wait':
      return `wait${sentence === undefined ? '' : `: ${sentence}`}`;
  }
}

export function hostTenants(cli: Cli): Command {
  const command = new Command('tenants')
    .description('Show what lives on a host, and what an evacuation would do with it now')
    .argument('<name>')
    .option('--limit <count>', 'at most so many', wholeNumber, 100);
  addExamples(command, ['before it is taken out', 'muster hosts tenants compute-1']);
  return withAction<{ readonly limit: number }>(
    cli,
    command,
    async (session, { args: [name = ''], options: { limit } }) => {
      const { count, tenants } = await session.client.get<HostTenants>(`${hostPath(name)}/tenants`, { limit });
      await session.writeList(tenants, COLUMNS, `Nothing lives on ${name}.`);
      if (count > tenants.length)
        session.note(`These are the first ${tenants.length} of ${count}; --limit shows more.`);
      return undefined;
    },
  );
}
