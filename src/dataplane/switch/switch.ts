// The port to the switch of a host: its contents, and how they are changed. An implementation decides nothing; the compiler says what
// should be there, the diff says what to change and in which order.
import type { SwitchIdentity } from '../../hosts/index.ts';

/** One flow in Open vSwitch syntax; two flows with the same table, priority and match are the same flow. */
export interface Flow {
  readonly table: number;
  readonly priority: number;
  /** Canonical: fields in a fixed order, so that texts can be compared. */
  readonly match: string;
  readonly actions: string;
  /** Identifies its owner; from a range of our own, so that foreign flows are never touched. */
  readonly cookie: Cookie;
}

/** 16 lower-case hexadecimal digits. */
export type Cookie = string;

export interface FlowGroup {
  readonly id: number;
  readonly type: 'all' | 'indirect' | 'fast-failover';
  readonly buckets: readonly string[];
}

/** What a host needs to send to a peer: with flow-based tunnels there is no port per peer. */
export interface Tunnel {
  /** The host at the other end. */
  readonly peer: string;
  readonly address: string;
  /** The BFD interval; absent where there is no BFD with this peer. */
  readonly bfdIntervalMs?: number;
}

export interface SwitchContents {
  readonly flows: readonly Flow[];
  readonly groups: readonly FlowGroup[];
  readonly tunnels: readonly Tunnel[];
  /** All groups and flows of the integration bridge, ours and foreign. */
  readonly externalIds: Readonly<Record<string, string>>;
  /** The existing ports by name, in quotes; undefined where every name is accepted. */
  readonly ports?: readonly string[];
}

export type SwitchChange =
  | { readonly kind: 'put-tunnel'; readonly tunnel: Tunnel }
  | { readonly kind: 'remove-tunnel'; readonly peer: string }
  | { readonly kind: 'put-group'; readonly group: FlowGroup }
  | { readonly kind: 'remove-group'; readonly id: number }
  | { readonly kind: 'put-flow'; readonly flow: Flow }
  /** With a cookie, only the flow that carries it is removed: another one may have replaced it. */
  | { readonly kind: 'remove-flow'; readonly flow: Pick<Flow, 'table' | 'priority' | 'match'> & Partial<Flow> }
  /** `null` removes the key. */
  | { readonly kind: 'set-external-id'; readonly key: string; readonly value: string | null };

/** The switch is missing or does not answer: try again. */
export class SwitchDown extends Error {
  readonly code = 'switch-down';
  readonly retryable = true;

  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.name = 'SwitchDown';
  }
}

/** The switch refuses these changes: they refer to something missing. Nothing was changed, and a plain retry does not help. */
export class SwitchRefused extends Error {
  readonly code = 'switch-refused';
  readonly retryable = false;

  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.name = 'SwitchRefused';
  }
}

interface TrackedEnds {
  readonly src: string;
  readonly dst: string;
  /** Its external address and port; for echo, the port is the echo id. */
  readonly natSource: { readonly ip: string; readonly port: number };
}

/** A translated connection, as it was begun inside. The addresses say the IP version. Plain JSON. */
export type TrackedConnection =
  | (TrackedEnds & { readonly protocol: 'udp' | 'tcp'; readonly sport: number; readonly dport: number })
  | (TrackedEnds & {
      readonly protocol: 'icmp';
      readonly id: number;
      readonly type: number;
      readonly code: number;
    });

/** Why a switch cannot be controlled. */
export interface SwitchCondition {
  /** A stable code for the cause. */
  readonly code: string;
  readonly message: string;
  /** It certainly forwards nothing any more. */
  readonly cannotServe?: true;
}

/** A port for BFD with a peer that the switch could not open. */
export interface BfdPortError {
  readonly peer: string;
  readonly name: string;
  readonly error: string;
}

/** The result of a conntrack import: `present` existed already, `failed` could not be added. */
export interface ConntrackImport {
  readonly imported: number;
  readonly present: number;
  readonly failed: number;
}

/** Rejects with `SwitchDown`. Every call may be repeated. */
export interface Switch {
  identity(): Promise<SwitchIdentity>;
  /** The actual contents. */
  read(): Promise<SwitchContents>;
  /**
   * Makes the changes in their order; when it resolves, they are in force. Changes that refer to something missing are refused as a whole,
   * with `SwitchRefused`. `before` is what the caller has just read: then it is not read again.
   */
  apply(changes: readonly SwitchChange[], before?: SwitchContents): Promise<void>;
  /**
   * Creates the ports that flows need: to other hosts, and to the external network. Called before reading to reconcile with a view;
   * idempotent. Reading and probing never create them: a host that left has none of them.
   */
  setUp(): Promise<void>;
  /** Removes these ports, after everything else of ours; they stay away until `setUp` or a change that needs them. */
  tearDown(): Promise<void>;
  /** The interfaces that are plugged in, beside those of the switch itself. Absent where nothing else can be plugged in. */
  interfaces?(): Promise<readonly string[]>;
  /** Checks whether every control connection still works; undefined when they do. Changes nothing and never rejects. */
  probe?(): Promise<SwitchCondition | undefined>;
  /** The peers with BFD down; undefined while this switch runs no BFD. */
  bfdDownPeers(): Promise<readonly string[] | undefined>;
  /** The BFD ports that could not be opened, as far as that is known. Tunnels work without; a session that never began is not down. */
  bfdPortErrors?(): readonly BfdPortError[];
  /** Whether BFD with a peer was up since it was configured. When absent, every peer counts as seen up. */
  hasBfdBeenUp?(peer: string): boolean;
  /** Notifies at once when BFD with a peer goes down or up. */
  onBfdChange?(listener: () => void): () => void;
  /** The translated connections of a zone, the most valuable first: established ones, then those with the longest timeout. */
  listConnections?(zone: number): Promise<readonly TrackedConnection[]>;
  /** Imports connections of another switch. An existing one stays as it is. */
  importConnections?(zone: number, connections: readonly TrackedConnection[]): Promise<ConntrackImport>;
  /** Forgets every connection of a zone. */
  flushConnections?(zone: number): Promise<void>;
  /**
   * Notifies when its contents may have changed: after a reconnect or any change, our own included; it may notify too often.
   * Returns how to unsubscribe. Absent for a switch that cannot notify: it is then read from time to time.
   */
  onChanged?(changed: () => void): () => void;
}

/**
 * The external id that marks a tombstoned host for every reader of the switch. The journal is the source of truth; this is its
 * projection.
 */
export const TOMBSTONED_KEY = 'tombstoned';

/** Two flows with the same key are the same flow. */
export function flowKey({ table, priority, match }: Pick<Flow, 'table' | 'priority' | 'match'>): string {
  return `table=${table},priority=${priority}${match === '' ? '' : ','}${match}`;
}
