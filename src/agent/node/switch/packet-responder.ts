// The packets that an agent sends by itself: answers to DHCP and router solicitations, questions for next hops outside, announcements
// of addresses that came here. All of it is decided by pure functions; here is only when.
import {
  announcementFrames,
  answerDhcp,
  answerNd,
  planQueries,
  domainOf,
  responderConfigOf,
  interfaceOf,
  learnBinding,
  nextAnnouncement,
  encodeAddressQuery,
  updateNextHops,
  unsolicitedRouterAdvertisement,
  readBinding,
  type AnnouncedAddress,
  type AnnouncementState,
  type DataplaneView,
  type ResponderConfig,
  type NextHopTable,
  type SwitchContents,
  type LocalEnvironment,
} from '../../../dataplane/index.ts';
import type { Clock } from '../../../journal/index.ts';
import type { Log } from '../../../operations/index.ts';
import { WakeSignal } from '../../../link/index.ts';

/** As a switch sends it to its agent: the fields of the packet as a match, and its bytes. */
export interface ReceivedPacket {
  readonly match: string;
  readonly data: Uint8Array;
}

export interface OutgoingPacket {
  readonly actions: string;
  readonly data: Uint8Array;
}

/** The packets of a real switch. */
export interface SwitchPackets {
  onPacket(listener: (packet: ReceivedPacket) => void): () => void;
  /** Rejects while the switch is not there. */
  sendPackets(packets: readonly OutgoingPacket[]): Promise<void>;
}

export interface PacketResponderOptions {
  readonly packets: SwitchPackets;
  readonly clock: Clock;
  readonly log: Log;
}

/** There is one way out: what is said there is said in one network. */
const OUTSIDE = 'outside';
const TO_OUTSIDE = 'output:"muster-ext"';
/** Instances that missed the answer to their question get it again after this. */
const ADVERTISE_MS = 200_000;
const IDLE_MAX_MS = 30_000;

export class PacketResponder {
  readonly environment: LocalEnvironment = {
    nextHop: (ip) => this.#resolving.find((hop) => hop.ip === ip)?.mac ?? this.#restoredNextHops.get(ip.includes(':')),
  };
  readonly #options: PacketResponderOptions;
  readonly #wakeSignal = new WakeSignal();
  readonly #listeners = new Set<() => void>();
  #config: ResponderConfig | undefined;
  #localPorts: ReadonlyMap<number, readonly string[]> = new Map();
  #resolving: NextHopTable = [];
  /** Where an agent before this one sent what leaves, by IP version: that stays so until the next hop has answered anew. */
  #restoredNextHops: ReadonlyMap<boolean, string> = new Map();
  readonly #activeAnnouncements = new Map<string, { readonly what: AnnouncedAddress; at: AnnouncementState }>();
  #advertisedMs = 0;

  constructor(options: PacketResponderOptions) {
    this.#options = options;
  }

  /** Called when a next hop is known that was not, or is another. */
  onNextHopChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** An agent that is started anew knows no next hop, and what leaves must not stop for that: the switch shows where it went. */
  restoreNextHops({ flows }: Pick<SwitchContents, 'flows'>): void {
    const sent = flows.flatMap(({ match, actions }): [boolean, string][] => {
      const mac = /set_field:([0-9a-f:]{17})->eth_dst,output:"muster-ext"$/.exec(actions)?.[1];
      return mac === undefined ? [] : [[match.startsWith('ipv6'), mac]];
    });
    this.#restoredNextHops = new Map(sent);
  }

  /** From now on it answers as this view says. Called once its flows are there. */
  applyView(view: DataplaneView): void {
    const responderConfig = responderConfigOf(view);
    this.#config = responderConfig;
    this.#localPorts = localPorts(view);
    this.#resolving = updateNextHops(
      this.#resolving,
      responderConfig.nextHops.map((ip) => ({ network: OUTSIDE, ip })),
    );
    this.#updateAnnouncements(responderConfig.announcedAddresses);
    this.#wakeSignal.notify();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { packets, clock, log } = this.#options;
    const stop = packets.onPacket((packet) => this.#onPacket(packet));
    while (!signal.aborted) {
      const waitMs = await this.#sendDue().catch((error: unknown) => {
        log.warn({ err: error }, 'packets could not be sent');
        return IDLE_MAX_MS / 30;
      });
      await this.#wakeSignal.wait(signal, { clock, ms: waitMs });
    }
    stop();
  }

  /** Does what is due, and says for how long nothing is. */
  async #sendDue(): Promise<number> {
    const nowMs = this.#options.clock.nowMs();
    const { queries, table, nextAtMs = nowMs + IDLE_MAX_MS } = planQueries(this.#resolving, nowMs);
    this.#resolving = table;
    const mac = this.#config?.mac ?? '';
    const questions = queries.map(({ ip }) => ({ actions: TO_OUTSIDE, data: encodeAddressQuery({ mac, target: ip }) }));
    const { frames, atMs } = this.#dueAnnouncements(nowMs);
    const packets = [...questions, ...frames, ...this.#dueAdvertisements(nowMs)];
    if (packets.length > 0) await this.#options.packets.sendPackets(packets);
    return Math.max(1, Math.min(nextAtMs, atMs, nowMs + IDLE_MAX_MS) - nowMs);
  }

  #updateAnnouncements(wanted: readonly AnnouncedAddress[]): void {
    const sinceMs = this.#options.clock.nowMs();
    const keys = new Set(wanted.map(keyOf));
    for (const key of this.#activeAnnouncements.keys()) if (!keys.has(key)) this.#activeAnnouncements.delete(key);
    for (const what of wanted) {
      if (!this.#activeAnnouncements.has(keyOf(what)))
        this.#activeAnnouncements.set(keyOf(what), { what, at: { sinceMs, sent: 0 } });
    }
  }

  #dueAnnouncements(nowMs: number): { readonly frames: readonly OutgoingPacket[]; readonly atMs: number } {
    const frames: OutgoingPacket[] = [];
    let atMs = Number.POSITIVE_INFINITY;
    for (const one of this.#activeAnnouncements.values()) {
      const next = nextAnnouncement(one.at, nowMs);
      if (next.kind === 'now') {
        one.at = next.after;
        frames.push(...announcementFrames(one.what).map((data) => ({ actions: TO_OUTSIDE, data })));
      }
      const later = nextAnnouncement(one.at, nowMs);
      if (later.kind === 'at') atMs = Math.min(atMs, later.atMs);
    }
    return { frames, atMs };
  }

  #dueAdvertisements(nowMs: number): OutgoingPacket[] {
    if (this.#config === undefined || nowMs < this.#advertisedMs + ADVERTISE_MS) return [];
    this.#advertisedMs = nowMs;
    return [...(this.#config?.ndNetworks ?? [])].flatMap(([key, known]) => {
      const data = unsolicitedRouterAdvertisement(known);
      const outputs = (this.#localPorts.get(key) ?? []).map((port) => `output:"${interfaceOf(port)}"`);
      return data === undefined || outputs.length === 0 ? [] : [{ actions: outputs.join(','), data }];
    });
  }

  #onPacket({ match, data }: ReceivedPacket): void {
    if (match.includes('in_port="muster-ext"')) this.#learnNextHop(data);
    else this.#answerInstance(match, data);
  }

  #learnNextHop(data: Uint8Array): void {
    const said = readBinding(data);
    if (said === undefined) return;
    const { table, outcome } = learnBinding(
      this.#resolving,
      { ...said, network: OUTSIDE },
      this.#options.clock.nowMs(),
    );
    this.#resolving = table;
    if (outcome === 'first' || outcome === 'moved') for (const listener of this.#listeners) listener();
  }

  #answerInstance(match: string, data: Uint8Array): void {
    const key = Number(/(?:^|,)metadata=(0x[0-9a-f]+)/.exec(match)?.[1] ?? 0);
    const frames = [
      ...(this.#config?.dhcpSubnets.get(key) ?? []).map((subnet) => answerDhcp(data, subnet)),
      ...[this.#config?.ndNetworks.get(key)].flatMap((known) => (known === undefined ? [] : [answerNd(data, known)])),
    ].flatMap((answer) => (answer.kind === 'reply' ? [answer.frame] : []));
    if (frames.length === 0) return;
    const actions = `set_field:0x${key.toString(16)}->metadata,resubmit(,20)`;
    this.#options.packets.sendPackets(frames.map((frame) => ({ actions, data: frame }))).catch((error: unknown) => {
      // A request is repeated.
      this.#options.log.warn({ err: error }, 'an answer could not be sent');
    });
  }
}

function keyOf({ ip, mac, shared = false }: AnnouncedAddress): string {
  return `${ip} ${mac} ${shared}`;
}

function localPorts({ ports, networks }: DataplaneView): Map<number, string[]> {
  const local = new Map<number, string[]>();
  for (const { id, key } of networks.domains) {
    local.set(
      key,
      ports.filter((port) => id === domainOf(port)).map((port) => port.id),
    );
  }
  return local;
}
