// Liveness, readiness and metrics.
import { Type } from 'typebox';
import { answer, read, type Answer, type ReadableJournal, type Route } from '../access/index.ts';
import { isFirstStartOver } from '../alarms/index.ts';
import { StoreUnavailable } from '../journal/index.ts';
import type { Forwarder } from './forward.ts';
import type { Metrics } from './metrics.ts';

/** A store that takes longer than this to say who holds the lease is not fit to serve from. */
const STORE_TIMEOUT_MS = 1000;

export interface HealthProbeOptions {
  readonly metrics: Metrics;
  readonly forwarder: () => Forwarder;
  /** True when the fleet is loaded and the server is not about to stop. */
  readonly isServing: () => boolean;
}

const Checks = Type.Object({
  status: Type.String(),
  fleet: Type.Boolean({ description: 'loaded, and not shutting down' }),
  store: Type.Boolean({ description: 'answers' }),
  lease: Type.Boolean({ description: 'some server decides' }),
  admin: Type.Boolean({ description: 'there is or was an admin token: the first start is over' }),
});

export function probeRoutes(probed: HealthProbeOptions): Route[] {
  const state = { hadAdmin: false };
  return [
    read({
      method: 'GET',
      path: '/livez',
      tag: 'probes',
      about: 'Say that the process lives',
      access: 'public',
      isProbe: true,
      answers: { 200: { about: 'it does', schema: Type.Object({ status: Type.Literal('ok') }) } },
      handle: () => answer({ status: 'ok' }),
    }),
    read({
      method: 'GET',
      path: '/readyz',
      tag: 'probes',
      about: 'Show whether this server can answer, a server holds the lease, and the first admin token is there',
      access: 'public',
      isProbe: true,
      answers: { 200: { about: 'ready', schema: Checks }, 503: { about: 'not ready', schema: Checks } },
      handle: (_, { journal, clock }) => {
        // Once is enough: a fleet whose last admin token has expired still serves all other callers, and has an alarm.
        state.hadAdmin ||= isFirstStartOver(journal.fleet, clock.nowMs());
        return checkReadiness(journal, { ...probed, ...state });
      },
    }),
    read({
      method: 'GET',
      path: '/metrics',
      tag: 'probes',
      about: 'Show figures for Prometheus',
      access: 'viewer',
      answers: { 200: { about: 'the figures', type: 'text/plain; version=0.0.4' } },
      handle: async (_, { journal }) => {
        const lease = await readLeaseStatus(journal, probed);
        probed.metrics.setStoreStatus({ isUp: lease !== undefined, hasHolder: lease === true });
        const { contentType } = probed.metrics.registry;
        return { kind: 'answer', status: 200, text: await probed.metrics.text(), type: contentType };
      },
    }),
  ];
}

async function checkReadiness(
  journal: ReadableJournal,
  probed: HealthProbeOptions & { readonly hadAdmin: boolean },
): Promise<Answer> {
  const fleet = probed.isServing();
  const lease = await readLeaseStatus(journal, probed);
  const checks = { fleet, store: lease !== undefined, lease: lease === true, admin: probed.hadAdmin };
  const good = Object.values(checks).every(Boolean);
  return answer({ status: good ? 'ok' : 'not-ready', ...checks }, good ? 200 : 503);
}

/** Undefined when the store does not answer. */
async function readLeaseStatus(
  journal: ReadableJournal,
  { forwarder }: HealthProbeOptions,
): Promise<boolean | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, STORE_TIMEOUT_MS, undefined);
  });
  const forwarded = forwarder()
    .holder()
    .then((lease) => lease !== undefined || journal.fence !== undefined);
  try {
    return await Promise.race([forwarded, patience]);
  } catch (error) {
    if (error instanceof StoreUnavailable) return undefined;
    throw error;
  } finally {
    clearTimeout(timer);
    forwarded.catch(() => undefined);
  }
}
