// What a handover and the part for BFD are called in views, whose servers and agents may be a version apart: as version 0.1.0 called them.
// They are read by both names; nothing else of the program knows the words of the wire.
import type { Handover } from '../../election/index.ts';
import type { ServiceView } from './dataplane-view.ts';

/** The part of a view that says with which peers a host has BFD sessions. */
export const BFD_PART_ON_WIRE = 'heartbeats';

/** The part for BFD, by whichever name. */
export interface AnyBfdPart<Part> {
  readonly heartbeats?: Part;
  readonly bfd?: Part;
}

type Phase = Handover['phase'];
type Writable = Exclude<Phase, 'syncing' | 'resyncing'> | 'seeding' | 'reseeding';
/** As an agent or a server of any version says it. */
export type WirePhase = Phase | Writable;

/** A service in the part `services` of a view, as it is written. */
export type WireServiceView = Omit<ServiceView, 'handover'> & {
  readonly handOver?: Omit<NonNullable<ServiceView['handover']>, 'phase'> & { readonly phase: Writable };
};

/** The same, by whichever names. */
export type AnyServiceView = Omit<ServiceView, 'handover'> &
  Partial<Record<'handOver' | 'handover', Omit<NonNullable<ServiceView['handover']>, 'phase'> & { phase: WirePhase }>>;

export function phaseToWire<P extends Phase>(phase: P): Exclude<P, 'syncing' | 'resyncing'> | 'seeding' | 'reseeding' {
  if (phase === 'syncing') return 'seeding';
  if (phase === 'resyncing') return 'reseeding';
  return phase as Exclude<P, 'syncing' | 'resyncing'>;
}

export function phaseFromWire<P extends WirePhase>(
  phase: P,
): Exclude<P, 'seeding' | 'reseeding'> | 'syncing' | 'resyncing' {
  if (phase === 'seeding') return 'syncing';
  if (phase === 'reseeding') return 'resyncing';
  return phase as Exclude<P, 'seeding' | 'reseeding'>;
}

export function serviceToWire({ handover, ...service }: ServiceView): WireServiceView {
  return handover === undefined
    ? service
    : { ...service, handOver: { ...handover, phase: phaseToWire(handover.phase) } };
}

export function serviceFromWire({ handOver, handover = handOver, ...service }: AnyServiceView): ServiceView {
  return handover === undefined
    ? service
    : { ...service, handover: { ...handover, phase: phaseFromWire(handover.phase) } };
}
