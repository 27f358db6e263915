// What the HTTP server is given of all modules: their routes, how their kinds are shown to watchers and in the history, what is counted.
import type { ServerOptions } from '../api/runtime.ts';
import type { Runtime } from '../composition/index.ts';

export function surfaceOf(
  runtime: Runtime,
): Pick<ServerOptions, 'routes' | 'representations' | 'settings' | 'documentMetrics'> {
  const { representations: views, settings, metrics: documentMetrics } = runtime.composition;
  return { routes: runtime.routes(), representations: views, settings, documentMetrics };
}
