// The routes of the API module itself: settings, history, watch, probes, the API description.
import type { Route, Representation } from '../access/index.ts';
import type { Composition } from '../composition/index.ts';
import type { Setting } from '../fleet/index.ts';
import { acceptAnyHostId } from '../hosts/index.ts';
import type { Journal } from '../journal/index.ts';
import { auditRoute, type AuditSources } from './audit/audit-export.ts';
import { ChangeRepresentations } from './change-representation.ts';
import { historyRoute } from './history.ts';
import { describeApi, openApiRoute } from './openapi.ts';
import { probeRoutes, type HealthProbeOptions } from './probes.ts';
import { settingRoutes } from './settings.ts';
import { watchRoute } from './watch.ts';
import type { FairScheduler } from './limits/fair-scheduler.ts';

export interface BuiltInOptions extends HealthProbeOptions {
  readonly representations: readonly Representation<string, never>[];
  readonly scopes: Pick<Composition, 'scopeOf'>;
  readonly settings: readonly Setting[];
  readonly audited: AuditSources;
  readonly version?: string;
  readonly workload: FairScheduler;
  /** Everything that is served, these included. */
  readonly routes: () => readonly Route[];
}

export interface BuiltInRoutes {
  readonly routes: readonly Route[];
  /** Begins to follow a journal, for what the routes need to remember of it. */
  readonly follow: (journal: Journal) => () => void;
}

export function builtInRoutes(options: BuiltInOptions): BuiltInRoutes {
  const representations = new ChangeRepresentations(options.representations, options.scopes);
  const describe = (): object => describeApi(options.routes(), options.version ?? '0.0.0');
  const routes = [
    ...settingRoutes(options.settings),
    acceptAnyHostId(historyRoute(representations, options.workload)),
    watchRoute(representations, options.workload),
    auditRoute(options.audited),
    ...probeRoutes(options),
    openApiRoute(describe),
  ];
  return { routes, follow: (journal) => representations.follow(journal) };
}
