// muster gates: how far an upgrade of the hosts has come, and which side creates and binds ports until it is complete.
import { Command } from 'commander';
import { withAction, addExamples, type Cli } from '../command.ts';
import type { LabelledFacts } from '../session.ts';
import type { Gates } from '../client/representations.ts';

type Gate = Gates['create'];

export function gatesCommand(cli: Cli): Command {
  const command = new Command('gates').description(
    'Show the upgrade gates: who makes and binds ports, and what is left',
  );
  addExamples(command, ['how far the upgrade is', 'muster gates']);
  return withAction(cli, command, async (session) => {
    const gates = await session.client.get<Gates>('/api/v1/gates');
    await session.writeOne(gates, gateFacts(gates));
    if (session.output === 'table' && gates.minimumVersion > 0 && !gates.bind.open) {
      session.note(`See the oldest with: muster hosts list --agent-version ${gates.minimumVersion}`);
    }
    return undefined;
  });
}

export function gateFacts({ minimumVersion, create, bind, credentials, path }: Gates): LabelledFacts {
  return [
    ['Lowest version', minimumVersion === 0 ? '0: no host has reported its version yet' : String(minimumVersion)],
    ['Early create', gateText(create)],
    ['Early bind', gateText(bind)],
    ['Credentials', credentials ? 'present' : 'missing: networks that need some take the old way'],
    ['A build now', `ports are made by the ${portOwner(path.create)} and bound by the ${portOwner(path.bind)}`],
  ];
}

function gateText({ open, needs, below }: Gate): string {
  if (open) return `open: every host has version ${needs} or later`;
  const hosts = below === 1 ? 'one host is' : `${below} hosts are`;
  return below === 0 ? `closed: no host with version ${needs} yet` : `closed: ${hosts} below version ${needs}`;
}

function portOwner(side: string): string {
  return side === 'conductor' ? 'control plane' : 'host';
}
