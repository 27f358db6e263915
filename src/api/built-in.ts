// The routes that are the server's own: settings, history, watch, probes, the description of it all.
import type { Route, View } from '../access/index.ts';
import type { Setting } from '../fleet/index.ts';
import { byAnyId } from '../hosts/index.ts';
import type { Journal } from '../journal/index.ts';
import { auditRoute, type Audited } from './audit.ts';
import { ChangeViews } from './change-view.ts';
import { historyRoute } from './history.ts';
import { openApi, openApiRoute } from './openapi.ts';
import { probeRoutes, type Probed } from './probes.ts';
import { settingRoutes } from './settings.ts';
import { watchRoute } from './watch.ts';
import type { Workload } from './workload.ts';

export interface BuiltInOptions extends Probed {
  readonly views: readonly View<string, never>[];
  readonly settings: readonly Setting[];
  readonly audited: Audited;
  readonly version?: string;
  readonly workload: Workload;
  /** Everything that is served, these included. */
  readonly routes: () => readonly Route[];
}

export interface BuiltIn {
  readonly routes: readonly Route[];
  /** Begins to follow a journal, for what the routes need to remember of it. */
  readonly follow: (journal: Journal) => () => void;
}

export function builtInRoutes(options: BuiltInOptions): BuiltIn {
  const views = new ChangeViews(options.views);
  const describe = (): object => openApi(options.routes(), options.version ?? '0.0.0');
  const routes = [
    ...settingRoutes(options.settings),
    byAnyId(historyRoute(views, options.workload)),
    watchRoute(views, options.workload),
    auditRoute(options.audited),
    ...probeRoutes(options),
    openApiRoute(describe),
  ];
  return { routes, follow: (journal) => views.follow(journal) };
}
