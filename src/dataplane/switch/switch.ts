// The switch of a host, as the agent sees it: what is on it, and how it is changed. Whoever implements this decides nothing; the
// compiler says what should be there, the diff says what to change and in which order.

/** One flow in the words of Open vSwitch; two flows with the same table, priority and match are the same one. */
export interface Flow {
  readonly table: number;
  readonly priority: number;
  /** Canonical: fields in a fixed order, so that texts compare. */
  readonly match: string;
  readonly actions: string;
  /** Whose it is; in a range of our own, so that others' flows are never touched. */
  readonly cookie: Cookie;
}

/** 16 lower-case hexadecimal digits. */
export type Cookie = string;

export interface Group {
  readonly id: number;
  readonly type: 'all' | 'indirect' | 'fast-failover';
  readonly buckets: readonly string[];
}

/** What a host must know of a peer to send to it: with flow-based tunnels there is no port per peer. */
export interface Tunnel {
  /** The host at the other end. */
  readonly peer: string;
  readonly address: string;
  /** How often heartbeats are exchanged with it, by a port for nothing else; absent where none are. */
  readonly bfdIntervalMs?: number;
}

export interface SwitchContents {
  readonly flows: readonly Flow[];
  readonly groups: readonly Group[];
  readonly tunnels: readonly Tunnel[];
  /** Of the integration bridge. Ours and others'. */
  readonly externalIds: Readonly<Record<string, string>>;
  /** The ports that there are, by name and in quotes; undefined where every name will do. */
  readonly ports?: readonly string[];
}

export type SwitchChange =
  | { readonly kind: 'put-tunnel'; readonly tunnel: Tunnel }
  | { readonly kind: 'remove-tunnel'; readonly peer: string }
  | { readonly kind: 'put-group'; readonly group: Group }
  | { readonly kind: 'remove-group'; readonly id: number }
  | { readonly kind: 'put-flow'; readonly flow: Flow }
  /** With a cookie, only the flow that has it: another one may have taken its place. */
  | { readonly kind: 'remove-flow'; readonly flow: Pick<Flow, 'table' | 'priority' | 'match'> & Partial<Flow> }
  /** `null` takes the key away. */
  | { readonly kind: 'set-external-id'; readonly key: string; readonly value: string | null };

/** The switch is not there, or does not answer: it is tried again. */
export class SwitchDown extends Error {
  readonly code = 'switch-down';
  readonly retryable = true;

  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.name = 'SwitchDown';
  }
}

/** The switch does not take these changes: they point at nothing. Nothing was changed; asking again alone does not help. */
export class SwitchRefused extends Error {
  readonly code = 'switch-refused';
  readonly retryable = false;

  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.name = 'SwitchRefused';
  }
}

/** What tells a switch apart. Without a datapath id its integration bridge is not there yet. */
export interface SwitchIdentity {
  readonly datapathId?: string;
  readonly systemId?: string;
  readonly bridge?: string;
}

interface TrackedEnds {
  readonly src: string;
  readonly dst: string;
  /** What it is seen as from outside; of an echo the port is its id there. */
  readonly natSource: { readonly ip: string; readonly port: number };
}

/** A connection that a switch translates, as it was begun inside. Addresses tell which version of IP it is of. Plain JSON. */
export type TrackedConnection =
  | (TrackedEnds & { readonly protocol: 'udp' | 'tcp'; readonly sport: number; readonly dport: number })
  | (TrackedEnds & {
      readonly protocol: 'icmp';
      readonly id: number;
      readonly type: number;
      readonly code: number;
    });

/** Why a switch does not obey. */
export interface SwitchCondition {
  /** A stable word for the cause. */
  readonly code: string;
  readonly message: string;
  /** Nothing is forwarded there any more, for certain. */
  readonly cannotServe?: true;
}

/** What became of connections that a switch was given: `already` had them, `failed` could not be had. */
export interface ConntrackImport {
  readonly imported: number;
  readonly present: number;
  readonly failed: number;
}

/** Rejects with `SwitchDown`. Every call may be repeated. */
export interface Switch {
  identity(): Promise<SwitchIdentity>;
  /** What is really there. */
  read(): Promise<SwitchContents>;
  /** Makes the changes in their order; when it resolves, they are in force. What points at nothing is refused as a whole,
   * with `SwitchRefused`. `before` is what was read just before, by whoever did: then it is not read again. */
  apply(changes: readonly SwitchChange[], before?: SwitchContents): Promise<void>;
  /** Has the ports that flows need: to other hosts, and outside. Asked for before it is read to be brought to a view; twice is once.
   * Reading, asking and probing never does it: a host that left has none of them. */
  setUp(): Promise<void>;
  /** Takes these ports away, after everything else of ours: until it is set up again, or something is put there. */
  tearDown(): Promise<void>;
  /** The interfaces that are plugged in, beside what the switch itself is made of. Absent where nobody else plugs anything in. */
  interfaces?(): Promise<readonly string[]>;
  /** Asks it whether it still obeys, by every way that it is driven; undefined when it does. Changes nothing, and never rejects. */
  probe?(): Promise<SwitchCondition | undefined>;
  /** The peers whose tunnel heartbeat is not heard; undefined while this switch does not listen for any. */
  bfdDownPeers(): Promise<readonly string[] | undefined>;
  /** Whether a peer was heard since it is listened for. Where it is not said, everybody was. */
  hasBfdBeenUp?(peer: string): boolean;
  /** Calls at once when a peer is heard no more, or again. */
  onBfdChange?(listener: () => void): () => void;
  /** The translated connections of a zone, those first that are worth most: established ones, then those that last longest. */
  listConnections?(zone: number): Promise<readonly TrackedConnection[]>;
  /** Makes it know connections of another switch. One that it has already stays as it is. */
  importConnections?(zone: number, connections: readonly TrackedConnection[]): Promise<ConntrackImport>;
  /** Forgets every connection of a zone. */
  flushConnections?(zone: number): Promise<void>;
  /**
   * Calls when it may hold something else than before: it came back, or was changed by whomever. May call too often, also for our
   * own changes. Answers how to stop it. Absent for one that notices nothing: it is read now and then.
   */
  onChanged?(changed: () => void): () => void;
}
