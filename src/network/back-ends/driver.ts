// The driver `network`: passes an order to the back ends of its ports and returns the answer. It must not decide anything.
import { mark } from '../../fleet/index.ts';
import type { Clock } from '../../journal/index.ts';
import type { Action, ActionFence, ActionOutcome, Driver } from '../../operations/index.ts';
import {
  CAPABILITIES,
  NetworkUnavailable,
  type BackEndFence,
  type OrderResult,
  type NetworkBackEnd,
  type NetworkOrder,
  type PortAnswer,
} from './back-end.ts';
import type { BackEndName } from '../model.ts';

export interface NetworkDriverOptions {
  readonly clock: Clock;
  /** Those outside the journal, by name. */
  readonly backEnds: ReadonlyMap<BackEndName, NetworkBackEnd>;
  /** Whether this server has the credentials of a back end that needs some. */
  readonly hasCredentials: (backEnd: BackEndName) => boolean;
  readonly callTimeoutMs?: number;
}

type BackEndCall = (signal: AbortSignal) => Promise<OrderResult>;

/** Longer than any working back end takes. */
const CALL_TIMEOUT_MS = 30_000;

/** Beyond its own deadline a back end gets this long to answer. */
const GRACE_MS = 100;

export class NetworkDriver implements Driver {
  readonly #options: NetworkDriverOptions;

  constructor(options: NetworkDriverOptions) {
    this.#options = options;
  }

  /** All back ends of an order are called at once. It counts as one action: calling those again that have done it is safe. */
  async carryOut(action: Action, fence: ActionFence): Promise<ActionOutcome> {
    const orders = splitByBackEnd(action.args as unknown as NetworkOrder);
    return joinOutcomes(await Promise.all(orders.map((order) => this.#carryOut(order, fence))));
  }

  async #carryOut(order: NetworkOrder, fence: ActionFence): Promise<ActionOutcome> {
    const { backEnd: name } = order;
    const { backEnds, hasCredentials, clock, callTimeoutMs = CALL_TIMEOUT_MS } = this.#options;
    const backEnd = backEnds.get(name);
    if (backEnd === undefined) return failWith({ code: 'back-end-not-configured', backEnd: name });
    if (CAPABILITIES[name].needsCredentials && !hasCredentials(name)) {
      mark('network-order-without-credentials');
      return failWith({ code: 'network-credentials-missing', backEnds: [name] });
    }
    const deadlineAtMs = Math.min(fence.deadlineAtMs, clock.nowMs() + callTimeoutMs);
    try {
      const call: BackEndCall = (signal) =>
        callBackEnd(backEnd, order, { leaseEpoch: fence.leaseEpoch, deadlineAtMs, signal });
      return toActionOutcome(order, await this.#withDeadline(call, { deadlineAtMs, signal: fence.signal }));
    } catch (error) {
      if (!(error instanceof NetworkUnavailable)) throw error;
      mark('network-order-unanswered');
      return unavailable(order, error.message);
    }
  }

  /** A back end that is silent is not waited for, its own deadline included, nor one that continues when it is ordered to stop. */
  async #withDeadline(
    call: BackEndCall,
    { deadlineAtMs, signal }: Pick<BackEndFence, 'deadlineAtMs' | 'signal'>,
  ): Promise<OrderResult> {
    const { clock } = this.#options;
    // Of this call alone: the back end is notified as well when this driver stops waiting.
    const over = new AbortController();
    const abortCall = (): void => over.abort(signal.reason);
    signal.addEventListener('abort', abortCall, { once: true });
    if (signal.aborted) abortCall();
    const silence = clock.sleep(Math.max(0, deadlineAtMs - clock.nowMs()) + GRACE_MS, over.signal).then(() => {
      const why = signal.aborted ? 'the call was aborted' : 'the back end did not answer in time';
      throw new NetworkUnavailable(why);
    });
    const answer = call(over.signal);
    try {
      return await Promise.race([answer, silence]);
    } finally {
      signal.removeEventListener('abort', abortCall);
      over.abort('over');
      // Whichever answer came second is ignored.
      silence.catch(() => undefined);
      answer.catch(() => undefined);
    }
  }
}

/** An order for each back end of its ports. */
function splitByBackEnd(order: NetworkOrder): readonly NetworkOrder[] {
  const { backEnd: first } = order;
  const names = new Set(order.ports.map(({ backEnd = first }) => backEnd));
  if (names.size <= 1) return [{ ...order, backEnd: [...names][0] ?? first }];
  return [...names].map((backEnd) => {
    const ports = order.ports.filter((port) => (port.backEnd ?? first) === backEnd);
    return { ...order, backEnd, ports } as NetworkOrder;
  });
}

/** An unknown result of one back end makes that of the order unknown. */
function joinOutcomes(outcomes: readonly ActionOutcome[]): ActionOutcome {
  const [only] = outcomes;
  if (only !== undefined && outcomes.length === 1) return only;
  const undone = outcomes.find(({ kind }) => kind === 'failed') ?? outcomes.find(({ kind }) => kind === 'stale');
  if (undone !== undefined) return undone;
  const ports = outcomes.flatMap((one) =>
    'facts' in one ? ((one.facts?.['ports'] ?? []) as readonly PortAnswer[]) : [],
  );
  return { kind: outcomes.every(({ kind }) => kind === 'already') ? 'already' : 'applied', facts: { ports } };
}

function callBackEnd(backEnd: NetworkBackEnd, order: NetworkOrder, fence: BackEndFence): Promise<OrderResult> {
  switch (order.op) {
    case 'create':
      return backEnd.create(order, fence);
    case 'bind':
      return backEnd.bind(order, fence);
    case 'add-binding':
      return backEnd.addBinding(order, fence);
    case 'activate-binding':
      return backEnd.activateBinding(order, fence);
    case 'delete-binding':
      return backEnd.deleteBinding(order, fence);
    case 'unbind':
      return backEnd.unbind(order, fence);
    case 'release':
      return backEnd.release(order, fence);
  }
}

/** Where a back end answered for no port at all, the result is unknown and the same order is given again. */
function toActionOutcome(order: NetworkOrder, carried: OrderResult): ActionOutcome {
  if (carried.kind === 'stale') {
    mark('network-order-stale');
    return carried;
  }
  const { kind, ports } = carried;
  const silent = ports.length > 0 && ports.every(({ outcome }) => outcome === 'unavailable');
  return silent ? unavailable(order, ports[0]?.text) : { kind, facts: { ports } };
}

function unavailable({ backEnd, op }: NetworkOrder, text: string | undefined): ActionOutcome {
  return failWith({ code: 'network-unavailable', backEnd, op, ...(text !== undefined && { text }) });
}

function failWith(reason: Extract<ActionOutcome, { kind: 'failed' }>['reason']): ActionOutcome {
  return { kind: 'failed', reason };
}
