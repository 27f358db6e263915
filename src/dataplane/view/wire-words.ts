// What version 0.1.0 calls a handover, its phases and the part for BFD. An agent that does not know the words of today is sent views in those;
// views of either kind are read. Nothing else of the program knows the former words.
import type { Handover } from '../../election/index.ts';
import type { BfdView, ServiceView } from './dataplane-view.ts';

type Phase = Handover['phase'];
type FormerPhase = Exclude<Phase, 'syncing' | 'resyncing'> | 'seeding' | 'reseeding';
/** As an agent or a server of any version says it. */
export type WirePhase = Phase | FormerPhase;

type HandoverView = NonNullable<ServiceView['handover']>;
type FormerHandoverView = Omit<HandoverView, 'phase'> & { readonly phase: FormerPhase };

/** A service in the part `services` as version 0.1.0 writes and reads it. */
export type FormerServiceView = Omit<ServiceView, 'handover'> & { readonly handOver?: FormerHandoverView };
/** The same, by whichever names. */
export type AnyServiceView = ServiceView | FormerServiceView;

interface FormerBfdView {
  readonly everyMs: number;
  readonly peers: readonly string[];
}

type Parts = Readonly<Record<string, unknown>>;

/** The part for BFD, by whichever name. */
export interface AnyBfdParts {
  readonly bfd?: BfdView;
  readonly heartbeats?: FormerBfdView;
}

/** Whether handovers are in the former words: the view is from a server of 0.1.0, or for an agent that is taken for one. */
export function hasFormerWords({ services = [] }: { readonly services?: readonly object[] }): boolean {
  return services.some((service) => 'handOver' in service);
}

/** The parts of a view for an agent of 0.1.0. */
export function partsToFormer({ bfd, services, ...others }: Parts): Parts {
  const { intervalMs: everyMs, peers } = (bfd ?? {}) as Partial<BfdView>;
  return {
    ...others,
    ...(bfd !== undefined && { heartbeats: { everyMs, peers } }),
    ...(services !== undefined && {
      services: (services as readonly ServiceView[]).map((service) => serviceToFormer(service)),
    }),
  };
}

export function readBfd({ bfd, heartbeats }: AnyBfdParts): BfdView | undefined {
  return bfd ?? (heartbeats && { intervalMs: heartbeats.everyMs, peers: heartbeats.peers });
}

export function phaseToFormer<P extends Phase>(
  phase: P,
): Exclude<P, 'syncing' | 'resyncing'> | 'seeding' | 'reseeding' {
  if (phase === 'syncing') return 'seeding';
  if (phase === 'resyncing') return 'reseeding';
  return phase as Exclude<P, 'syncing' | 'resyncing'>;
}

export function readPhase<P extends WirePhase>(
  phase: P,
): Exclude<P, 'seeding' | 'reseeding'> | 'syncing' | 'resyncing' {
  if (phase === 'seeding') return 'syncing';
  if (phase === 'reseeding') return 'resyncing';
  return phase as Exclude<P, 'seeding' | 'reseeding'>;
}

function serviceToFormer({ handover, ...service }: ServiceView): FormerServiceView {
  return handover === undefined
    ? service
    : { ...service, handOver: { ...handover, phase: phaseToFormer(handover.phase) } };
}

/** The same object when there is nothing to translate. */
export function readService(service: AnyServiceView): ServiceView {
  if (!('handOver' in service) || service.handOver === undefined) return service;
  const { handOver, ...others } = service;
  return { ...others, handover: { ...handOver, phase: readPhase(handOver.phase) } };
}
