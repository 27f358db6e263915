// What all modules contribute to the HTTP server: their routes, the representations of their kinds in watch and history, and metrics.
import type { ServerOptions } from '../api/runtime.ts';
import type { Runtime } from '../composition/index.ts';

export function surfaceOf(
  runtime: Runtime,
): Pick<ServerOptions, 'routes' | 'representations' | 'scopes' | 'settings' | 'documentMetrics'> {
  const { representations, settings, metrics: documentMetrics } = runtime.composition;
  return { routes: runtime.routes(), representations, scopes: runtime.composition, settings, documentMetrics };
}
