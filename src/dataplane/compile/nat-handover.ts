// The two ends of a source NAT handover: both translate the connections that they know, and only one of them allocates ports for new ones.
// If both did, two connections could get the same external address and port. Until the old host retires, it begins all new connections,
// also those that reach the new host. Afterwards the new host does, from a port range of its own until it knows all connections of the old
// host; then it is an ordinary designated host.
import { isIpv6 } from '../packets/address.ts';
import { bfdPortName } from '../switch/derived-ids.ts';
import type { FlowDraft, CompileContext } from './flow-fragment.ts';
import type { ServiceView } from '../view/dataplane-view.ts';
import type { FlowGroup } from '../switch/switch.ts';
import { TABLE, TUNNEL_PORT } from '../switch/tables.ts';
import {
  formatActions,
  matchSource,
  resubmit,
  hex,
  formatMatch,
  matchIpVersion,
  setField,
  groupAction,
  watchBucket,
  type Match,
} from '../switch/flow-syntax.ts';

/** Packets that the other end of a handover does not know: the host that gets them begins a connection. */
const FROM_OTHER_END = 'reg6';
/** Below the ephemeral ports that clients use, which translation keeps where they are free. */
const NEW_END_PORTS = '24576-32767';

export interface NatContext {
  readonly service: ServiceView;
  /** The key of the router. */
  readonly key: number;
  readonly ip: string;
  readonly zone: number;
}

/**
 * What this host does with connections it does not know. `allocate`: allocates ports. `forward-to-old`: sends them to the old end.
 * `forward-to-new`: sends them to the new end. `none`: translates nothing by itself.
 */
export type NewConnectionPolicy = 'allocate' | 'forward-to-old' | 'forward-to-new' | 'none';

export function newConnectionPolicyOf({ role, handover }: ServiceView): NewConnectionPolicy {
  if (role === 'other') return 'none';
  switch (handover?.phase) {
    case undefined:
      return role === 'retiring' ? 'none' : 'allocate';
    case 'preparing':
    case 'syncing':
      return role === 'preparing' ? 'forward-to-old' : 'allocate';
    case 'switched':
      return role === 'designated' ? 'forward-to-old' : 'allocate';
    case 'retiring':
    case 'resyncing':
      return role === 'designated' ? 'forward-to-old' : role === 'retiring' ? 'forward-to-new' : 'allocate';
    case 'draining':
      return role === 'retiring' ? 'none' : 'allocate';
  }
}

export interface OtherEnd {
  readonly host: string;
  /** The address of its tunnel. */
  readonly address: string;
  /** The actions that send a packet there. */
  readonly steps: string;
}

/** Outgoing packets are looked up in conntrack: known connections leave as before, unknown ones go to the end that begins connections. */
export function conntrackLookupFlows({ ip, key, zone }: NatContext, taken: Match, unknown: string): FlowDraft[] {
  const reg0 = hex(key);
  return [
    {
      table: TABLE.outbound,
      priority: 20,
      match: formatMatch({ ...matchIpVersion(ip), reg0, ...taken }),
      actions: formatActions(`ct(table=${TABLE.conntrack},zone=${zone},nat)`),
      reason: 'nat-lookup',
    },
    {
      // Only packets of known connections were translated.
      table: TABLE.conntrack,
      priority: 30,
      match: formatMatch({ ...matchSource(ip), reg0 }),
      actions: formatActions(resubmit(TABLE.snat)),
      reason: 'nat-established',
    },
    {
      table: TABLE.conntrack,
      priority: 10,
      match: formatMatch({ ...matchIpVersion(ip), reg0 }),
      actions: unknown,
      reason: 'nat-new-at-other-end',
    },
  ];
}

/** What the other end sends was unknown there as well. */
export function newConnectionFlows({ ip, key, zone }: NatContext, { address }: OtherEnd): FlowDraft[] {
  const reg0 = hex(key);
  const outside = isIpv6(ip) ? `[${ip}]` : ip;
  return [
    {
      table: TABLE.tunnel,
      priority: 65,
      match: formatMatch({
        ...matchIpVersion(ip),
        tun_id: reg0,
        [isIpv6(address) ? 'tun_ipv6_src' : 'tun_src']: address,
      }),
      actions: formatActions(
        setField('reg0', reg0),
        setField('reg4', '0x1'),
        setField(FROM_OTHER_END, '0x1'),
        resubmit(TABLE.outbound),
      ),
      reason: 'nat-from-other-end',
    },
    {
      table: TABLE.conntrack,
      priority: 20,
      match: formatMatch({ ...matchIpVersion(ip), reg0, [FROM_OTHER_END]: '0x1' }),
      actions: formatActions(`ct(commit,table=${TABLE.snat},zone=${zone},nat(src=${outside}:${NEW_END_PORTS}))`),
      reason: 'nat-new-here',
    },
  ];
}

/** Send to the old end; when its BFD session goes down, begin connections here. */
export function otherEndGroup(
  { service }: NatContext,
  { host, steps }: OtherEnd,
  context: CompileContext,
): FlowGroup | undefined {
  if (!context.isBfdMonitored(host)) return undefined;
  const here = formatActions(setField(FROM_OTHER_END, '0x1'), resubmit(TABLE.conntrack));
  const buckets = [watchBucket(bfdPortName(host), steps), watchBucket(TUNNEL_PORT, here)];
  // The name only makes the number of the group: another name would replace groups during an upgrade.
  return { id: context.allocator.group(`${service.id}/asks`), type: 'fast-failover', buckets };
}

export function otherEndActions(group: FlowGroup | undefined, { steps }: OtherEnd): string {
  return group === undefined ? steps : formatActions(groupAction(group.id));
}
