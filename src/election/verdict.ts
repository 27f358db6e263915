// Decides about one service now: kept, elected, handed over, withdrawn. A healthy designation must never move without a cause, and one without
// another candidate is kept as long as its host may still serve.
import { mark, type FleetReader } from '../fleet/index.ts';
import { findHost, isTombstoned } from '../hosts/index.ts';
import type { ElectionContext } from './candidates.ts';
import { chooseHost, type ChoiceRequest } from './choose.ts';
import { healthOf, type Health, type FailureDetector } from './health.ts';
import { isBeforeSwitch, type Cause, type Loss, type Service, type StoredService } from './model.ts';
import { hasPresence, hasPresenceElsewhere } from './desired-services.ts';
import { whyOf, type ElectedHost } from './why.ts';

export type ElectionVerdict =
  | { readonly kind: 'keep' }
  /** At once: it is not served, or its host is lost. */
  | { readonly kind: 'elect'; readonly choice: ElectedHost }
  /** Make before break: the old host serves until the new one is built. */
  | { readonly kind: 'handover'; readonly choice: ElectedHost }
  | { readonly kind: 'withdraw' }
  /** It was to go back to where it came from, and that host cannot take it any more. */
  | { readonly kind: 'stay' }
  /** It stays, on a leaving host while no other host can take it; or it stays on one that leaves no more. */
  | { readonly kind: 'flag'; readonly degraded: boolean };

export type ElectionInput = FailureDetector;

const LOST: readonly Health[] = ['silent', 'gone', 'bfd-down', 'data-path-lost'];

const KEEP: ElectionVerdict = { kind: 'keep' };
const WITHDRAW: ElectionVerdict = { kind: 'withdraw' };

type ServiceSnapshot = Pick<StoredService, 'id' | 'doc'>;

/** The choice is counted in the context. */
export function assessService(context: ElectionContext, service: ServiceSnapshot, now: ElectionInput): ElectionVerdict {
  const health = healthOf(context, service.doc, now);
  // A handover ends by itself, unless the host that has it now is lost meanwhile.
  if (service.doc.handover !== undefined && !LOST.includes(health)) return KEEP;
  switch (health) {
    case 'fine':
      return decideOnHealthyHost(context, service, now);
    case 'cut-off':
    case 'uncontrolled':
      return keepInPlace(context, service.doc);
    case 'absent':
      return (
        elect(context, service, { cause: service.doc.why === undefined ? 'first-election' : 'recovered' }, now) ?? KEEP
      );
    case 'silent':
      return elect(context, service, LOST_TO_SILENCE, now) ?? decideWithoutCandidate(context, service.doc);
    case 'data-path-lost':
      return elect(context, service, { cause: 'data-path-lost' }, now) ?? decideWithoutCandidate(context, service.doc);
    case 'bfd-down':
      return decideOnBfdDown(context, service, now);
    case 'gone':
      return elect(context, service, { cause: 'host-lost', lost: lossOf(context.fleet, service.doc) }, now) ?? WITHDRAW;
    case 'leaving':
      return decideOnLeavingHost(context, service, now);
    case 'no-presence':
      return (
        proposeHandover(context, service, { cause: 'presence-gone', fallback: 'none' }, now) ??
        decideWithoutCandidate(context, service.doc)
      );
    case 'unfit':
      return (
        proposeHandover(context, service, { cause: 'host-unfit', fallback: 'none' }, now) ??
        decideWithoutCandidate(context, service.doc)
      );
  }
}

const LOST_TO_SILENCE: ElectionOccasion = { cause: 'host-lost', lost: 'silent' };

/** How a host that certainly does not serve any more was lost. */
function lossOf(fleet: FleetReader, { designated }: Service): Loss {
  const host = findHost(fleet, designated?.host ?? '')?.doc;
  if (host?.forcedDown !== undefined) return 'forced-down';
  return host?.quarantined === undefined ? 'removed' : 'quarantined';
}

interface ElectionOccasion {
  readonly cause: Cause;
  readonly lost?: Loss;
}

function elect(
  context: ElectionContext,
  service: ServiceSnapshot,
  occasion: ElectionOccasion,
  { nowMs }: ElectionInput,
): ElectionVerdict | undefined {
  const { exclusion, designated, standby, handover } = service.doc;
  const choice = chooseHost(
    context,
    {
      service,
      ...occasion,
      fallback: exclusion === 'soft' ? 'leaving' : 'none',
      ...(designated !== undefined && { excluded: [designated.host] }),
      // It has been built there in part, or wholly; or the others send there already.
      prefer: handover !== undefined && isBeforeSwitch(handover) ? handover.to : standby,
      conntrackHolder: conntrackHolderOf(service.doc),
    },
    nowMs,
  );
  return choice && { kind: 'elect', choice };
}

/** Who still has the connections of a service: until the handover ends, the host that it is handed over from. */
function conntrackHolderOf({ type, exclusion, handover }: Service): string | undefined {
  if (type !== 'nat' || exclusion === 'hard' || handover === undefined) return undefined;
  return isBeforeSwitch(handover) ? undefined : handover.from;
}

/**
 * Only to a host whose BFD is up: the reporting peers may be the ones that are cut off, and then no other host is better. Without such a
 * candidate the other facts about its host decide: one that is down as well, or leaves, is not kept without a reason.
 */
function decideOnBfdDown(context: ElectionContext, service: ServiceSnapshot, now: ElectionInput): ElectionVerdict {
  if (context.candidatesOf(service, [service.doc.designated?.host ?? '']).eligible.count === 0) {
    const host = findHost(context.fleet, service.doc.designated?.host ?? '')?.doc;
    if (host?.connection.state === 'up' && !isTombstoned(host)) return keepInPlace(context, service.doc);
    mark('bfd-down-without-candidate');
    return assessService(context, service, { ...now, isBfdDownByMajority: () => false });
  }
  mark('elected-by-majority');
  return elect(context, service, { cause: 'host-lost', lost: 'bfd-down' }, now) ?? KEEP;
}

function proposeHandover(
  context: ElectionContext,
  service: ServiceSnapshot,
  how: Pick<ChoiceRequest, 'cause' | 'fallback'>,
  { nowMs }: ElectionInput,
): ElectionVerdict | undefined {
  const excluded = [service.doc.designated?.host ?? ''];
  const choice = chooseHost(context, { service, excluded, ...how }, nowMs);
  return choice && { kind: 'handover', choice };
}

function decideOnLeavingHost(context: ElectionContext, service: ServiceSnapshot, now: ElectionInput): ElectionVerdict {
  const fallback = fallbackFor(context.fleet, service.doc);
  return (
    proposeHandover(context, service, { cause: 'host-leaving', fallback }, now) ??
    decideWithoutCandidate(context, service.doc)
  );
}

/** From one leaving host to another only if the first has no presence any more: so that it can be drained. */
export function fallbackFor(fleet: FleetReader, doc: Service): ChoiceRequest['fallback'] {
  const isHere = hasPresence(fleet, doc, doc.designated?.host ?? '');
  return doc.exclusion === 'soft' && !isHere ? 'leaving' : 'none';
}

/** A host that may still serve keeps the service while its subject exists; a leaving host only if its policy allows. */
function decideWithoutCandidate(context: ElectionContext, doc: Service): ElectionVerdict {
  if (!hasPresenceElsewhere(context.fleet, doc)) return WITHDRAW;
  const host = findHost(context.fleet, doc.designated?.host ?? '')?.doc;
  if (host === undefined || !isTombstoned(host)) return keepInPlace(context, doc);
  if (doc.exclusion === 'hard') return WITHDRAW;
  return doc.designated?.degraded === true ? KEEP : { kind: 'flag', degraded: true };
}

function decideOnHealthyHost(context: ElectionContext, service: ServiceSnapshot, now: ElectionInput): ElectionVerdict {
  const { cameFrom } = service.doc;
  if (cameFrom?.back === true) return decideOnFailBack(context, service, { host: cameFrom.host, nowMs: now.nowMs });
  return isStranded(context, service) ? { kind: 'flag', degraded: true } : keepInPlace(context, service.doc);
}

/** Kept while its peers report BFD up, on a leaving host and without another candidate: that is recorded as degraded. */
function isStranded(context: ElectionContext, service: ServiceSnapshot): boolean {
  const { designated } = service.doc;
  const host = findHost(context.fleet, designated?.host ?? '')?.doc;
  if (host === undefined || !isTombstoned(host) || designated?.degraded === true) return false;
  if (!hasPresenceElsewhere(context.fleet, service.doc)) return false;
  return context.candidatesOf(service, [designated?.host ?? '']).eligible.count === 0;
}

/** It stays; and the degradation recorded while its host was leaving is cleared once it is not. */
function keepInPlace(context: ElectionContext, { designated }: Service): ElectionVerdict {
  if (designated?.degraded !== true) return KEEP;
  const host = findHost(context.fleet, designated.host)?.doc;
  const isBack = host?.state === 'active';
  return isBack ? { kind: 'flag', degraded: false } : KEEP;
}

function decideOnFailBack(
  context: ElectionContext,
  service: ServiceSnapshot,
  { host, nowMs }: { host: string; nowMs: number },
): ElectionVerdict {
  const { doc } = service;
  const because = context.rejectionOf(doc, host);
  // It is about to be active again.
  if (because === 'not-in-service') return KEEP;
  if (because !== undefined) return { kind: 'stay' };
  const why = whyOf('fail-back', context.candidatesOf(service, [doc.designated?.host ?? '']), host, nowMs);
  context.recordChoice(doc, host);
  return { kind: 'handover', choice: { host, why } };
}
