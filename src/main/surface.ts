// The HTTP surface of all rooms: their routes, and how their kinds are shown to watchers and in the history.
import { TOKEN_VIEW, type Route, type View } from '../access/index.ts';
import { tokenRoutes } from '../access/runtime.ts';
import { agentRoutes } from '../agent/runtime.ts';
import { alarmRoutes, alarmView } from '../alarms/runtime.ts';
import type { Tally } from '../api/runtime.ts';
import { HOST, type Host } from '../hosts/index.ts';
import { HOST_VIEW, hostRoutes } from '../hosts/runtime.ts';
import { OPERATION, type Operation } from '../operations/index.ts';
import { operationRoutes, operationViews } from '../operations/runtime.ts';
import { SITE } from '../sites/index.ts';
import { SITE_VIEW, siteRoutes } from '../sites/runtime.ts';
import { explain, OPERATION_KINDS, SITE_USES } from './rooms.ts';

export interface Surface {
  readonly routes: readonly Route[];
  readonly views: readonly View<string, never>[];
  readonly tallies: readonly Tally<never>[];
}

export function surfaceOf(desk: Parameters<typeof agentRoutes>[0]): Surface {
  const alarms = alarmView(explain);
  const operations = operationViews(explain);
  return {
    routes: [
      ...tokenRoutes({ site: SITE, host: HOST }),
      ...siteRoutes(SITE_USES),
      ...hostRoutes,
      ...operationRoutes({ views: operations, kinds: OPERATION_KINDS }),
      ...alarmRoutes(alarms),
      ...agentRoutes(desk),
    ],
    views: [TOKEN_VIEW, SITE_VIEW, HOST_VIEW, operations.operation, operations.item, alarms],
    tallies: [HOSTS, OPERATIONS],
  };
}

const HOSTS: Tally<Host> = {
  name: 'muster_hosts',
  help: 'Hosts by state and connection',
  kind: HOST,
  labels: ['state', 'connection'],
  of: (doc) => [doc.state, doc.connection.state],
};

const OPERATIONS: Tally<Operation> = {
  name: 'muster_operations',
  help: 'Operations by kind and state',
  kind: OPERATION,
  labels: ['kind', 'state'],
  of: (doc) => [doc.kind, doc.state],
};
