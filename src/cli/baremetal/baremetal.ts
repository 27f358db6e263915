// muster baremetal: machines that are given to instances whole.
import type { Command } from 'commander';
import { commandGroup, type Cli } from '../command.ts';
import { showCapacity } from './capacity.ts';
import { inventoryCommands } from './inventories.ts';
import { managerCommands } from './managers.ts';
import { nodeCommands } from './nodes.ts';
import { reservationCommands } from './reservations.ts';

export function baremetalCommand(cli: Cli): Command {
  return commandGroup(
    'baremetal',
    'Machines that are given to instances whole',
    nodeCommands(cli),
    reservationCommands(cli),
    managerCommands(cli),
    inventoryCommands(cli),
    showCapacity(cli),
  );
}
