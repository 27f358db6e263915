// What a host itself does about ports: nothing when it gets them bound, binding when they are made, making and binding
// before that. A port that the journal looks after (an inline back end) is left to the server, which allocates it when it
// records the answer.
import type { Clock } from '../../../journal/index.ts';
import {
  CAPABILITIES,
  NetworkUnavailable,
  type HostNetworkRequest,
  type HostNetwork,
  type HostNic,
  type PoolKey,
  type PortAnswer,
} from '../../../network/index.ts';
import type { ReleasedNic, NetworkMode, TaskNic } from './instance-task-args.ts';

/** What a host says of a port that it bound. */
export interface PortFact {
  readonly port: string;
  readonly mac: string;
  readonly type: string;
  readonly segment?: string;
  readonly serial: number;
  readonly addresses: readonly { readonly ip: string; readonly subnet: string }[];
}

export type PortsResult =
  | { readonly kind: 'done'; readonly ports: readonly PortFact[] }
  | { readonly kind: 'failed'; readonly fault: string; readonly problem: string; readonly pool?: string };

export interface PortsRequest<N> {
  readonly host: string;
  readonly instance: string;
  readonly nics: readonly N[];
  readonly signal: AbortSignal;
}

/** An order without an answer is repeated, then the host reports it: another one may do better. */
const TRIES = 3;
const RETRY_MS = 1000;

export class HostPorts {
  readonly #network: HostNetwork | undefined;
  readonly #clock: Clock;

  constructor(network: HostNetwork | undefined, clock: Clock) {
    this.#network = network;
    this.#clock = clock;
  }

  async connect(mode: NetworkMode, request: PortsRequest<TaskNic>): Promise<PortsResult> {
    const outside = { ...request, nics: request.nics.filter((nic) => !isInline(nic)) };
    switch (mode) {
      case 'ready':
        return succeed([]);
      case 'bind':
        return this.#bind(outside);
      case 'allocate':
        return (await this.#create(outside)) ?? (await this.#bind(outside));
      case 'driver':
        return this.#bindAsDriver(outside);
    }
  }

  /**
   * Deletes what Muster made and hands back what a user made, which is never the host's to delete. A host that has no access
   * to the networks any more leaves it all to the server, which goes through the ports after it.
   */
  async release(request: PortsRequest<ReleasedNic>): Promise<PortsResult> {
    const nics = request.nics.filter((nic) => !isInline(nic)).map(endNic);
    if (nics.length === 0 || this.#network === undefined) return succeed([]);
    const answers = await this.#call('release', { ...request, nics });
    if (!Array.isArray(answers)) return answers;
    const left = answers.find(({ outcome }) => outcome !== 'ok' && outcome !== 'not-found');
    return left === undefined ? succeed([]) : fail(left);
  }

  async #create(request: PortsRequest<TaskNic>): Promise<PortsResult | undefined> {
    const nics = request.nics.filter((nic) => nic.createdBy === 'muster').map(hostNic);
    if (nics.length === 0) return undefined;
    const answers = await this.#call('create', { ...request, nics });
    if (!Array.isArray(answers)) return answers;
    const bad = answers.find(({ outcome }) => outcome !== 'ok');
    return bad === undefined ? undefined : fail(bad);
  }

  async #bind(request: PortsRequest<TaskNic>): Promise<PortsResult> {
    if (request.nics.length === 0) return succeed([]);
    const answers = await this.#call('bind', { ...request, nics: request.nics.map(hostNic) });
    if (!Array.isArray(answers)) return answers;
    const byPort = new Map(answers.map((answer) => [answer.port, answer]));
    const facts: PortFact[] = [];
    for (const nic of request.nics) {
      const answer = byPort.get(nic.port) ?? { port: nic.port, outcome: 'not-found' };
      if (answer.outcome !== 'ok') return fail(answer, nic);
      facts.push(factOf(nic, answer));
    }
    return succeed(facts);
  }

  /** Here the driver is who binds. It may also be the first to make them: before the gates open nothing else has. */
  async #bindAsDriver(request: PortsRequest<TaskNic>): Promise<PortsResult> {
    if (this.#network === undefined) return succeed(request.nics.map((nic) => factOf(nic)));
    const bound = await this.#bind(request);
    if (bound.kind !== 'failed' || bound.fault !== 'not-found') return bound;
    return (await this.#create(request)) ?? (await this.#bind(request));
  }

  async #call(
    call: 'create' | 'bind' | 'release',
    { host, instance, nics, signal }: PortsRequest<HostNic>,
  ): Promise<PortAnswer[] | Extract<PortsResult, { kind: 'failed' }>> {
    const request: HostNetworkRequest = { host, instance, nics };
    if (this.#network === undefined) return failNoAccess(call);
    for (let tries = 1; ; tries += 1) {
      try {
        return [...(await this.#network[call](request))];
      } catch (error) {
        if (!(error instanceof NetworkUnavailable)) throw error;
        if (tries === TRIES || signal.aborted) {
          return { kind: 'failed', fault: 'back-end-unavailable', problem: error.message };
        }
      }
      await this.#clock.sleep(RETRY_MS, signal);
    }
  }
}

function succeed(ports: readonly PortFact[]): PortsResult {
  return { kind: 'done', ports };
}

/** The outcomes are faults by the same names, but for a back end that cannot be reached. */
function fail({ port, outcome, text }: PortAnswer, nic?: TaskNic): Extract<PortsResult, { kind: 'failed' }> {
  const fault = outcome === 'unavailable' ? 'back-end-unavailable' : outcome;
  const problem = `port ${port}: ${outcome}${text === undefined ? '' : `, ${text}`}`;
  const pool = outcome === 'pool-empty' ? nic?.pool : undefined;
  return { kind: 'failed', fault, problem, ...(pool !== undefined && { pool }) };
}

function failNoAccess(call: string): Extract<PortsResult, { kind: 'failed' }> {
  const problem = `this host has a task to ${call} ports and has no access to the network back end`;
  return { kind: 'failed', fault: 'no-network-access', problem };
}

/** A back end that this agent does not know is one outside the journal. */
function isInline({ backEnd }: { readonly backEnd: string }): boolean {
  return (CAPABILITIES as Readonly<Record<string, { readonly inline: boolean } | undefined>>)[backEnd]?.inline ?? false;
}

function hostNic(order: TaskNic): HostNic {
  const { port, nic, network, mac, serial, createdBy, addresses, pool, segment, takes } = order;
  return {
    ...{ port, nic, network, mac, serial, createdBy, addresses },
    ...(takes !== undefined && { takes }),
    ...(pool !== undefined && { pool: pool as PoolKey }),
    ...(segment !== undefined && { segment }),
  };
}

function endNic({
  port,
  createdBy,
  nic = 0,
  network = '',
  mac = '',
  addresses = [],
  serial = 0,
}: ReleasedNic): HostNic {
  return { port, nic, network, mac, serial, createdBy, addresses };
}

/** As the back end answered; a driver that binds by itself says how, and gives no address. */
function factOf(nic: TaskNic, answer: Partial<PortAnswer> = {}): PortFact {
  const { pool = '' } = nic;
  const segment = nic.segment ?? (pool.startsWith('segment:') ? pool.slice('segment:'.length) : undefined);
  return {
    port: nic.port,
    mac: answer.mac ?? nic.mac,
    type: answer.type ?? nic.type ?? 'simulated',
    ...(segment !== undefined && { segment }),
    serial: nic.serial,
    addresses: answer.addresses ?? [],
  };
}
