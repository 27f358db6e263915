// What becomes of one service now: kept, elected, handed over, withdrawn. A healthy designation never moves without a cause,
// and one that nobody else can take is kept as long as its host may still do it.
import { mark, type FleetReader } from '../fleet/index.ts';
import { findHost, isTombstoned } from '../hosts/index.ts';
import type { Poll } from './candidates.ts';
import { choose, type Asked } from './choose.ts';
import { healthOf, type Health, type Senses } from './health.ts';
import { isBeforeSwitch, type Cause, type Loss, type Service, type StoredService } from './model.ts';
import { hasPresence, hasPresenceElsewhere } from './wanted.ts';
import { whyOf, type Choice } from './why.ts';

export type Verdict =
  | { readonly kind: 'keep' }
  /** At once: nobody does it, or whoever did is lost. */
  | { readonly kind: 'elect'; readonly choice: Choice }
  /** Make before break: the old host serves until the new one is built. */
  | { readonly kind: 'hand-over'; readonly choice: Choice }
  | { readonly kind: 'withdraw' }
  /** It was to go back to where it came from, and that host cannot take it any more. */
  | { readonly kind: 'stay' }
  /** It stays, on a leaving host that nobody can take it from; or it stays on one that leaves no more. */
  | { readonly kind: 'flag'; readonly degraded: boolean };

export type Circumstances = Senses;

const LOST: readonly Health[] = ['silent', 'gone', 'unheard', 'data-path-lost'];

const KEEP: Verdict = { kind: 'keep' };
const WITHDRAW: Verdict = { kind: 'withdraw' };

type Subject = Pick<StoredService, 'id' | 'doc'>;

/** What is chosen is counted in the poll. */
export function verdictOn(poll: Poll, service: Subject, now: Circumstances): Verdict {
  const health = healthOf(poll, service.doc, now);
  // A hand-over ends by itself, unless the host that has it now is lost meanwhile.
  if (service.doc.handOver !== undefined && !LOST.includes(health)) return KEEP;
  switch (health) {
    case 'fine':
      return whenFine(poll, service, now);
    case 'cut-off':
    case 'uncontrolled':
      return asItIs(poll, service.doc);
    case 'absent':
      return (
        elect(poll, service, { cause: service.doc.why === undefined ? 'first-election' : 'recovered' }, now) ?? KEEP
      );
    case 'silent':
      return elect(poll, service, LOST_TO_SILENCE, now) ?? whenNobodyCan(poll, service.doc);
    case 'data-path-lost':
      return elect(poll, service, { cause: 'data-path-lost' }, now) ?? whenNobodyCan(poll, service.doc);
    case 'unheard':
      return whenUnheard(poll, service, now);
    case 'gone':
      return elect(poll, service, { cause: 'host-lost', lost: lossOf(poll.fleet, service.doc) }, now) ?? WITHDRAW;
    case 'leaving':
      return whenLeaving(poll, service, now);
    case 'no-presence':
      return pass(poll, service, { cause: 'presence-gone', fallback: 'none' }, now) ?? whenNobodyCan(poll, service.doc);
    case 'unfit':
      return pass(poll, service, { cause: 'host-unfit', fallback: 'none' }, now) ?? whenNobodyCan(poll, service.doc);
  }
}

const LOST_TO_SILENCE: Occasion = { cause: 'host-lost', lost: 'silent' };

/** How a host was lost that does not do it any more, for certain. */
function lossOf(fleet: FleetReader, { designated }: Service): Loss {
  const host = findHost(fleet, designated?.host ?? '')?.doc;
  if (host?.forcedDown !== undefined) return 'forced-down';
  return host?.quarantined === undefined ? 'removed' : 'quarantined';
}

interface Occasion {
  readonly cause: Cause;
  readonly lost?: Loss;
}

function elect(poll: Poll, service: Subject, occasion: Occasion, { nowMs }: Circumstances): Verdict | undefined {
  const { exclusion, designated, standby, handOver } = service.doc;
  const choice = choose(
    poll,
    {
      service,
      ...occasion,
      fallback: exclusion === 'soft' ? 'leaving' : 'none',
      ...(designated !== undefined && { except: [designated.host] }),
      // It has been built there in part, or wholly; or the others send there already.
      prefer: handOver !== undefined && isBeforeSwitch(handOver) ? handOver.to : standby,
      keeper: keeperOf(service.doc),
    },
    nowMs,
  );
  return choice && { kind: 'elect', choice };
}

/** Who still has the connections of a service: until the hand-over ends, the host that it is handed over from. */
function keeperOf({ type, exclusion, handOver }: Service): string | undefined {
  if (type !== 'nat' || exclusion === 'hard' || handOver === undefined) return undefined;
  return isBeforeSwitch(handOver) ? undefined : handOver.from;
}

/**
 * Only to a host that is heard: it may be the listeners that are cut off, and then nothing is better elsewhere. Without one, it is
 * judged by what else is known of its host: one that is down as well, or leaves, is not kept without a word.
 */
function whenUnheard(poll: Poll, service: Subject, now: Circumstances): Verdict {
  if (poll.candidatesOf(service, [service.doc.designated?.host ?? '']).eligible.count === 0) {
    const host = findHost(poll.fleet, service.doc.designated?.host ?? '')?.doc;
    if (host?.connection.state === 'up' && !isTombstoned(host)) return asItIs(poll, service.doc);
    mark('unheard-and-nobody-to-take-over');
    return verdictOn(poll, service, { ...now, isUnheard: () => false });
  }
  mark('elected-by-majority');
  return elect(poll, service, { cause: 'host-lost', lost: 'bfd-down' }, now) ?? KEEP;
}

function pass(
  poll: Poll,
  service: Subject,
  how: Pick<Asked, 'cause' | 'fallback'>,
  { nowMs }: Circumstances,
): Verdict | undefined {
  const except = [service.doc.designated?.host ?? ''];
  const choice = choose(poll, { service, except, ...how }, nowMs);
  return choice && { kind: 'hand-over', choice };
}

function whenLeaving(poll: Poll, service: Subject, now: Circumstances): Verdict {
  const fallback = fallbackFor(poll.fleet, service.doc);
  return pass(poll, service, { cause: 'host-leaving', fallback }, now) ?? whenNobodyCan(poll, service.doc);
}

/** From one leaving host to another only if this one has nothing of it any more: so that it can be emptied. */
export function fallbackFor(fleet: FleetReader, doc: Service): Asked['fallback'] {
  const isHere = hasPresence(fleet, doc, doc.designated?.host ?? '');
  return doc.exclusion === 'soft' && !isHere ? 'leaving' : 'none';
}

/** Whoever may still do it keeps it while there is something to do it for; from a leaving host only if that will do. */
function whenNobodyCan(poll: Poll, doc: Service): Verdict {
  if (!hasPresenceElsewhere(poll.fleet, doc)) return WITHDRAW;
  const host = findHost(poll.fleet, doc.designated?.host ?? '')?.doc;
  if (host === undefined || !isTombstoned(host)) return asItIs(poll, doc);
  if (doc.exclusion === 'hard') return WITHDRAW;
  return doc.designated?.degraded === true ? KEEP : { kind: 'flag', degraded: true };
}

function whenFine(poll: Poll, service: Subject, now: Circumstances): Verdict {
  const { cameFrom } = service.doc;
  if (cameFrom?.back === true) return whenGoingBack(poll, service, { host: cameFrom.host, nowMs: now.nowMs });
  return isStranded(poll, service) ? { kind: 'flag', degraded: true } : asItIs(poll, service.doc);
}

/** Held on to while its peers hear it, on a host that leaves and that nobody could take it from: that is to be said. */
function isStranded(poll: Poll, service: Subject): boolean {
  const { designated } = service.doc;
  const host = findHost(poll.fleet, designated?.host ?? '')?.doc;
  if (host === undefined || !isTombstoned(host) || designated?.degraded === true) return false;
  if (!hasPresenceElsewhere(poll.fleet, service.doc)) return false;
  return poll.candidatesOf(service, [designated?.host ?? '']).eligible.count === 0;
}

/** It stays; and what was said of its host when that was leaving is taken back once it is not. */
function asItIs(poll: Poll, { designated }: Service): Verdict {
  if (designated?.degraded !== true) return KEEP;
  const host = findHost(poll.fleet, designated.host)?.doc;
  const isBack = host?.state === 'active';
  return isBack ? { kind: 'flag', degraded: false } : KEEP;
}

function whenGoingBack(poll: Poll, service: Subject, { host, nowMs }: { host: string; nowMs: number }): Verdict {
  const { doc } = service;
  const because = poll.rejectionOf(doc, host);
  // It is about to be in service again.
  if (because === 'not-in-service') return KEEP;
  if (because !== undefined) return { kind: 'stay' };
  const why = whyOf('fail-back', poll.candidatesOf(service, [doc.designated?.host ?? '']), host, nowMs);
  poll.count(doc, host);
  return { kind: 'hand-over', choice: { host, why } };
}
