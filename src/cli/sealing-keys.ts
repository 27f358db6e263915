// muster keys sealing, reseal: which keys sealed the secrets in documents, and sealing them anew after a change of key. The keys are on the servers; nothing but
// their ids is shown.
import { Command } from 'commander';
import { withAction, addExamples, type Cli } from './command.ts';
import type { TableColumn } from './output/table.ts';
import type { ResealedSecrets, SealingKey } from './client/representations.ts';

const PATH = '/api/v1/sealing-keys';

const USES: Readonly<Record<SealingKey['use'], string>> = {
  current: 'current',
  earlier: 'earlier, opens what it sealed',
  missing: 'missing: the server that decides does not have it',
};

const COLUMNS: readonly TableColumn<SealingKey>[] = [
  { title: 'key', of: ({ id }) => id, colour: 'bold' },
  { title: 'use', of: ({ use }) => USES[use] },
  { title: 'secrets', of: ({ secrets }) => secrets, align: 'right' },
];

export function sealingKeyCommands(cli: Cli): Command[] {
  return [sealingCommand(cli), resealCommand(cli)];
}

function sealingCommand(cli: Cli): Command {
  const command = new Command('sealing').description('Show which keys sealed the secrets of the fleet, by their ids');
  addExamples(command, ['before an earlier key is taken out of the file', 'muster keys sealing']);
  return withAction(cli, command, async (session) => {
    const { items } = await session.client.get<{ readonly items: readonly SealingKey[] }>(PATH);
    await session.writeList(items, COLUMNS, 'There is no sealing key: none was needed yet, or the server has none.');
    return undefined;
  });
}

function resealCommand(cli: Cli): Command {
  const command = new Command('reseal').description(
    'Seal the secrets of the fleet by the current key, the first in the key file',
  );
  addExamples(command, ['after the new key was put first into the file of every server', 'muster keys reseal']);
  return withAction(cli, command, async (session) => {
    let documents = 0;
    for (;;) {
      const { resealed, left } = await session.client.write<ResealedSecrets>('POST', `${PATH}/reseal`);
      documents += resealed;
      if (left > 0 && resealed > 0) continue;
      const rest = left === 0 ? 'None is left.' : `${left} are left that do not open: set those secrets again.`;
      await session.reportDone(
        { resealed: documents, left },
        `Secrets of ${documents} documents were resealed. ${rest}`,
      );
      return undefined;
    }
  });
}
