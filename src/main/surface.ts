// What all modules contribute to the HTTP server: their routes, the representations of their kinds in watch and history, and metrics.
import type { ServerOptions } from '../api/runtime.ts';
import type { Runtime } from '../composition/index.ts';
import { SECRETS } from '../keys/index.ts';

export function surfaceOf(
  runtime: Runtime,
): Pick<ServerOptions, 'routes' | 'representations' | 'scopes' | 'settings' | 'documentMetrics' | 'seal'> {
  const { representations, settings, metrics: documentMetrics } = runtime.composition;
  const { seal } = runtime.get(SECRETS);
  return { routes: runtime.routes(), representations, scopes: runtime.composition, settings, documentMetrics, seal };
}
