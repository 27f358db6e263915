// What the sentence of a reason states of hosts, instances and services, checked against the documents. Independent of how the product came to the reason.
// Codes that state nothing which the documents show (such as what a back end answered) are not listed.
import { ELECTION, SERVICE, type Service } from '../../src/election/index.ts';
import { idOf, valueOf, type Fleet, type Reason } from '../../src/fleet/index.ts';
import { HOST, isOutOfControl, isTombstoned, type Host } from '../../src/hosts/index.ts';
import { INSTANCE, type Instance } from '../../src/instances/index.ts';
import {
  OPEN_ITEMS_BY_HOST,
  OPEN_ITEMS_BY_TARGET,
  OPERATION,
  targetKey,
  type Item,
} from '../../src/operations/index.ts';

/** A reason of an item, and what it names. */
class Statement {
  readonly truth: Fleet;
  readonly item: Item;
  readonly #reason: Reason;

  constructor(truth: Fleet, item: Item, reason: Reason) {
    this.truth = truth;
    this.item = item;
    this.#reason = reason;
  }

  fact(name: string): string {
    const value = this.#reason[name];
    return typeof value === 'string' ? value : '';
  }

  list(name: string): readonly string[] {
    const value = this.#reason[name];
    return Array.isArray(value) ? value.map(String) : [];
  }

  host(name = this.fact('host')): Host | undefined {
    return this.truth.get(HOST, idOf(HOST, name))?.doc;
  }

  get instance(): Instance | undefined {
    return this.truth.get(INSTANCE, idOf(INSTANCE, this.fact('instance')))?.doc;
  }

  get service(): Service | undefined {
    return this.truth.get(SERVICE, idOf(SERVICE, this.fact('service')))?.doc;
  }
}

type Claim = (statement: Statement) => boolean;

const isSilent: Claim = (one) => one.host()?.connection.state !== 'up';
const isForcedDown: Claim = (one) => one.host()?.forcedDown !== undefined;
const isUncontrolled = (host: Host | undefined): boolean => host !== undefined && isOutOfControl(host);
const isInService = (host: Host | undefined): boolean => host !== undefined && !isTombstoned(host);
const isServedBy = (one: Statement): boolean => one.service?.designated?.host === one.fact('host');
const isHome = (one: Statement, fact = 'host'): boolean => one.instance?.host === one.fact(fact);

/** It may have the only copy: it is not known that the instance runs elsewhere. */
function mayBeOnlyCopy(one: Statement): boolean {
  const { instance } = one;
  if (instance === undefined) return false;
  const home = instance.host === undefined ? undefined : one.host(instance.host);
  const isGone = home === undefined || home.state === 'removed' || home.forcedDown !== undefined;
  return instance.state !== 'active' || isHome(one) || isGone || instance.host === one.fact('home');
}

function isProvidedMeanwhile(one: Statement): boolean {
  const by = one.service?.designated?.host;
  return by !== undefined && by !== one.fact('host') && [by, ''].includes(one.fact('servedBy'));
}

function isAnotherItemOpen(one: Statement): boolean {
  const open = [...one.truth.find(OPEN_ITEMS_BY_TARGET, targetKey(INSTANCE.name, one.fact('instance')))];
  return open.some(({ doc }) => doc.operation !== one.item.operation);
}

/** What is done for the instance itself: a copy elsewhere is destroyed beside it. */
function openWorkOf(one: Statement): Item[] {
  const { truth } = one;
  const open = [...truth.find(OPEN_ITEMS_BY_TARGET, targetKey(INSTANCE.name, one.fact('instance')))];
  return open.flatMap(({ doc }) =>
    truth.get(OPERATION, idOf(OPERATION, doc.operation))?.doc.kind === 'instance-clean' ? [] : [doc],
  );
}

/** Something is on its way off the host, whichever operation moves it. */
function isLeftNow(one: Statement): boolean {
  const host = one.fact('host');
  return [...one.truth.all(INSTANCE)].some(({ id, doc }) => {
    const open = [...one.truth.find(OPEN_ITEMS_BY_TARGET, targetKey(INSTANCE.name, id))];
    if (open.length === 0) return false;
    // One that is rebuilt is at its new host already; the rebuild says which host it was begun for.
    return doc.host === host || doc.move?.from === host || open.some((item) => item.doc.drainedHost === host);
  });
}

function hasAgentWork(one: Statement): boolean {
  const operation = one.fact('operation');
  const open = [...one.truth.find(OPEN_ITEMS_BY_HOST, one.fact('host'))];
  return open.some(({ doc }) => operation === '' || doc.operation === operation);
}

const CLAIMS: Readonly<Record<string, Claim>> = {
  'host-down': (one) => one.host()?.connection.state === 'down' && !isForcedDown(one),
  'host-silent': isSilent,
  'host-not-connected': isSilent,
  'agent-not-connected': isSilent,
  'source-not-connected': isSilent,
  'target-not-connected': isSilent,
  'migration-outcome-unknown': isSilent,
  'leaver-silent': isSilent,
  'leave-unanswered': (one) => !isSilent(one),
  'peer-not-connected': (one) => one.host(one.fact('peer'))?.connection.state !== 'up',
  'peer-out-of-control': (one) => isUncontrolled(one.host(one.fact('peer'))),
  'host-forced-down': isForcedDown,
  'forced-down': isForcedDown,
  'host-gone': (one) => one.host() === undefined || one.host()?.state === 'removed',
  'brought-back': (one) => isInService(one.host()),
  'host-recovering': (one) => one.host()?.state === 'recovering',
  'host-works': hasAgentWork,
  'handovers-under-way': (one) =>
    [...one.truth.all(SERVICE)].some(({ doc }) => doc.handover?.from === one.fact('host')),
  'elections-held': ({ truth }) => valueOf(truth, ELECTION).held,
  'held-out-of-control': (one) => isUncontrolled(one.host()) && isServedBy(one),
  'no-candidate': (one) => one.fact('host') === '' || one.service?.designated !== undefined,
  'service-not-ready': isProvidedMeanwhile,
  'target-bfd-down': isProvidedMeanwhile,
  'host-stays': (one) => isInService(one.host()) && isServedBy(one),
  'handover-drains': (one) => one.service?.handover?.from === one.fact('host'),
  'handover-under-way': (one) => one.service?.handover?.to === one.fact('to'),
  'held-while-bfd-up': (one) => isSilent(one) && isServedBy(one) && one.service?.onControlLoss === 'hold',
  'host-just-silent': (one) => isSilent(one) && isServedBy(one),
  'service-gone': (one) => one.service === undefined,
  'elected-anew': (one) => one.service !== undefined && (one.fact('host') === '' || isServedBy(one)),
  'service-withdrawn': (one) => one.service !== undefined && one.service.designated === undefined,
  'instance-gone': (one) => one.fact('instance') === '' || one.instance === undefined,
  'instance-deleted': (one) => one.instance === undefined || one.instance.state === 'deleting',
  'instance-in-error': (one) => one.instance?.state === 'error',
  'only-copy': mayBeOnlyCopy,
  'moved-and-degraded': (one) => one.instance?.state === 'active' && isHome(one),
  'not-connected': (one) => isHome(one),
  'ports-bound-again': (one) => isHome(one),
  'not-bound': (one) => isHome(one),
  'not-bound-again': (one) => isHome(one),
  'target-not-bound': (one) => isHome(one, 'from'),
  'binding-left': (one) => isHome(one, 'at'),
  'other-work-ends-first': isAnotherItemOpen,
  'left-unfinished': (one) => one.instance?.state === one.fact('state') && openWorkOf(one).length === 0,
  'moves-under-way': isLeftNow,
  'hosts-behind': (one) => one.list('hosts').every((name) => one.host(name)?.connection.state === 'up'),
};

/** Whether what the reason of an item says is so; one without a claim is. */
export function isReasonTrue(truth: Fleet, item: Item): boolean {
  const { reason } = item;
  if (reason === undefined) return true;
  return CLAIMS[reason.code]?.(new Statement(truth, item, reason)) ?? true;
}
