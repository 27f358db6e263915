// The manager's own lease: registered, renewed, and looked at before each act. By its own clock it stops some time before the lease may end, since the
// controller of a machine cannot compare epochs. It must never count a lease from later than its request.
import {
  Backoff,
  WakeSignal,
  type CallResult,
  type LeaderClient,
  type Reply,
  type CallTarget,
} from '../../link/index.ts';
import { STOP_EARLY_MS } from '../managers/settings.ts';
import type { LeaseResponse, TenureRequest } from '../managers/messages.ts';
import type { ManagerOptions, ManagerPorts } from './ports.ts';

interface HeldLease {
  readonly leaseEpoch: number;
  readonly untilMs: number;
  readonly renewMs: number;
  readonly renewedAtMs: number;
}

/** Another process may be the manager until its lease ends: the request is repeated soon. */
const REGISTER_BACKOFF_MAX_MS = 2000;
const RENEW_BACKOFF_MAX_MS = 1000;
const ENDED = 'the right to act is over';

export class ManagerTenure {
  readonly #ports: ManagerPorts;
  readonly #options: ManagerOptions;
  readonly #leader: LeaderClient;
  readonly #onChange: () => void;
  readonly #changed = new WakeSignal();
  readonly #renewSoon = new WakeSignal();
  #held: HeldLease | undefined;
  /** Aborted when the present stretch of the right to act is over. */
  #stretch: AbortController | undefined;
  /** Each refusal is logged once. */
  #refusal: string | undefined;

  constructor(ports: ManagerPorts, options: ManagerOptions, leader: LeaderClient, onChange: () => void) {
    this.#ports = ports;
    this.#options = options;
    this.#leader = leader;
    this.#onChange = onChange;
  }

  /** As what this process speaks; undefined while it is not registered. */
  get current(): TenureRequest | undefined {
    const { holder } = this.#options;
    return this.#held === undefined ? undefined : { holder, leaseEpoch: this.#held.leaseEpoch };
  }

  /** How often the lease is renewed; undefined while there is none. */
  get renewMs(): number | undefined {
    return this.#held?.renewMs;
  }

  /** A look at the own clock: timers may be late, as after a pause of the process. */
  mayAct(): boolean {
    return this.#held !== undefined && this.#ports.clock.nowMs() < this.#held.untilMs - STOP_EARLY_MS;
  }

  /** Aborted when the right to act ends; undefined while there is none. */
  get right(): AbortSignal | undefined {
    return this.mayAct() ? this.#stretch?.signal : undefined;
  }

  /** The control plane says that the right is over: the next renewal shows whether it is. */
  doubt(): void {
    this.#renewSoon.notify();
  }

  /** Until `signal` is aborted. The lease is not released: whoever ends the program does that when nothing acts any more. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#keep(signal), this.#watch(signal)]);
    this.#end();
  }

  async #keep(signal: AbortSignal): Promise<void> {
    const registering = new Backoff(this.#ports, REGISTER_BACKOFF_MAX_MS);
    const renewing = new Backoff(this.#ports, RENEW_BACKOFF_MAX_MS);
    while (!signal.aborted) {
      if (this.#held === undefined) {
        if (await this.#register()) registering.reset();
        else await registering.wait(signal);
        continue;
      }
      const { renewMs, renewedAtMs } = this.#held;
      const leftMs = renewedAtMs + renewMs - this.#ports.clock.nowMs();
      if (leftMs > 0) await this.#renewSoon.wait(signal, { clock: this.#ports.clock, ms: leftMs });
      if (signal.aborted) return;
      if (await this.#renew(this.#held)) renewing.reset();
      else await renewing.wait(signal);
    }
  }

  async #register(): Promise<boolean> {
    const { link, log } = this.#ports;
    const { name, holder, version, host, site, isEmbedded } = this.#options;
    const request = {
      ...{ holder, version },
      ...(host !== undefined && { host }),
      ...(site !== undefined && { site }),
      ...(isEmbedded === true && { embedded: true as const }),
    };
    if ((await this.#call((to) => link.register(to, name, request))) !== 'answer') return false;
    log.info({ manager: name, leaseEpoch: this.#held?.leaseEpoch }, 'registered');
    return true;
  }

  /** False when it is to be tried again soon. */
  async #renew({ leaseEpoch }: HeldLease): Promise<boolean> {
    const { link, log } = this.#ports;
    const { name, holder } = this.#options;
    const said = await this.#call((to) => link.renew(to, name, { holder, leaseEpoch }));
    if (said !== 'refused') return said === 'answer';
    log.warn({ manager: name, leaseEpoch }, 'the lease is over: the manager registers anew');
    this.#held = undefined;
    this.#end();
    return true;
  }

  async #call(call: (to: CallTarget) => Promise<Reply<LeaseResponse>>): Promise<CallResult<LeaseResponse>['kind']> {
    const secret = this.#options.token();
    if (secret === undefined) return 'away';
    const requestedAtMs = this.#ports.clock.nowMs();
    const said = await this.#leader.call(secret, call);
    if (said.kind === 'refused' && this.#refusal !== said.code)
      this.#ports.log.warn({ manager: this.#options.name, code: said.code }, said.message);
    this.#refusal = said.kind === 'refused' ? said.code : undefined;
    if (said.kind === 'answer') {
      this.#options.onKeysSerial?.(said.answer.keysSerial);
      this.#hold(said.answer, requestedAtMs);
    }
    return said.kind;
  }

  #hold({ leaseEpoch, remainingMs, renewMs }: LeaseResponse, requestedAtMs: number): void {
    const isAnother = this.#held?.leaseEpoch !== leaseEpoch;
    if (isAnother) this.#end();
    this.#held = { leaseEpoch, untilMs: requestedAtMs + remainingMs, renewMs, renewedAtMs: requestedAtMs };
    const begins = this.mayAct() && (this.#stretch === undefined || this.#stretch.signal.aborted);
    if (begins) this.#stretch = new AbortController();
    this.#changed.notify();
    if (begins || isAnother) this.#onChange();
  }

  /** Ends the right to act when its time is up, however long a renewal takes. */
  async #watch(signal: AbortSignal): Promise<void> {
    const { clock } = this.#ports;
    while (!signal.aborted) {
      const endMs = this.#held === undefined ? undefined : this.#held.untilMs - STOP_EARLY_MS;
      if (endMs !== undefined && clock.nowMs() >= endMs) this.#end();
      const isOver = this.#stretch === undefined || this.#stretch.signal.aborted;
      if (endMs === undefined || isOver) await this.#changed.wait(signal);
      else await this.#changed.wait(signal, { clock, ms: endMs - clock.nowMs() });
    }
  }

  #end(): void {
    if (this.#stretch === undefined || this.#stretch.signal.aborted) return;
    this.#stretch.abort(ENDED);
    this.#onChange();
  }

  /** Others take over at once. Only when nothing acts any more. */
  async release(): Promise<void> {
    const { link } = this.#ports;
    const { current } = this;
    const secret = this.#options.token();
    if (current === undefined || secret === undefined) return;
    await this.#leader.call(secret, (to) => link.release(to, this.#options.name, current));
    this.#held = undefined;
  }
}
