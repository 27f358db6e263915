// The commands of `muster`, one value for each group, in the order in which help lists them. A new group is added here and nowhere else.
import type { Command } from 'commander';
import { alarmsCommand } from './alarms.ts';
import { auditCommand } from './audit.ts';
import { baremetalCommand } from './baremetal/baremetal.ts';
import type { Cli } from './command.ts';
import { completionCommand } from './completion.ts';
import { agentCommand, demoCommand, managerCommand, serveCommand } from './daemons.ts';
import { dataplaneCommand } from './dataplane/dataplane.ts';
import { historyCommand } from './history.ts';
import { hostsCommand } from './hosts/hosts.ts';
import { scaleOutCommand } from './hosts/scale-out.ts';
import { flavorsCommand } from './instances/flavors.ts';
import { gatesCommand } from './instances/gates.ts';
import { groupsCommand } from './instances/groups.ts';
import { instancesCommand } from './instances/instances.ts';
import { keysCommand } from './keys.ts';
import { clustersCommand } from './kubernetes/clusters.ts';
import { workersCommand } from './kubernetes/workers.ts';
import { floatingAddressesCommand } from './network/floating-addresses.ts';
import { networksCommand } from './network/networks.ts';
import { portsCommand } from './network/ports.ts';
import { quotasCommand } from './network/quotas.ts';
import { routersCommand } from './network/routers.ts';
import { segmentsCommand } from './network/segments.ts';
import { servicesCommand } from './network/services.ts';
import { subnetsCommand } from './network/subnets.ts';
import { transportZonesCommand } from './network/transport-zones.ts';
import { operationsCommand } from './operations/operations.ts';
import { scaleInCommand } from './scale-in/scale-in.ts';
import { settingsCommand } from './settings.ts';
import { sitesCommand } from './sites.ts';
import { backupCommand, restoreCommand, verifyCommand } from './store-commands.ts';
import { tokenCommand } from './token.ts';
import { versionCommand } from './version.ts';
import { watchCommand } from './watch.ts';

export const COMMANDS: readonly ((cli: Cli) => Command)[] = [
  demoCommand,
  serveCommand,
  agentCommand,
  managerCommand,
  hostsCommand,
  scaleInCommand,
  scaleOutCommand,
  sitesCommand,
  instancesCommand,
  flavorsCommand,
  groupsCommand,
  baremetalCommand,
  clustersCommand,
  workersCommand,
  networksCommand,
  segmentsCommand,
  subnetsCommand,
  portsCommand,
  servicesCommand,
  routersCommand,
  floatingAddressesCommand,
  transportZonesCommand,
  dataplaneCommand,
  quotasCommand,
  gatesCommand,
  operationsCommand,
  alarmsCommand,
  watchCommand,
  historyCommand,
  auditCommand,
  settingsCommand,
  tokenCommand,
  verifyCommand,
  backupCommand,
  restoreCommand,
  keysCommand,
  completionCommand,
  versionCommand,
];
