// The two ends of a hand-over of source NAT: both translate what they know, and one of them alone gives out ports for what begins. Were
// both to do so, two connections could be seen as the same one outside, and one of them would have to become another.
// Until the old host retires it begins everything, also what is sent to the new one already. From then on the new one does, from ports
// of their own as long as it does not know all that the old one gave out; when it does, it is an ordinary designated host.
import { bfdPortName } from '../switch/derived-ids.ts';
import type { FlowDraft, CompileContext } from './flow-fragment.ts';
import type { ServiceView } from '../view/dataplane-view.ts';
import type { Group } from '../switch/switch.ts';
import { TABLE, TUNNEL_PORT } from '../switch/tables.ts';
import {
  formatActions,
  matchSource,
  resubmit,
  hex,
  isIpv6,
  formatMatch,
  matchIpVersion,
  setField,
  groupAction,
  watchBucket,
  type Match,
} from '../switch/flow-syntax.ts';

/** Packets that the other end of a hand-over does not know: whoever gets them begins a connection. */
const FROM_OTHER_END = 'reg6';
/** Below those that clients take by themselves, which are kept in translation where they are free. */
const NEW_END_PORTS = '24576-32767';

export interface NatContext {
  readonly service: ServiceView;
  /** Of the router. */
  readonly key: number;
  readonly ip: string;
  readonly zone: number;
}

/** `begins`: gives out ports. `asks`: leaves that to the old end. `passes`: leaves it to the new end. `none`: translates nothing by itself. */
export type NewConnectionPolicy = 'begins' | 'asks' | 'passes' | 'none';

export function newConnectionPolicyOf({ role, handover }: ServiceView): NewConnectionPolicy {
  if (role === 'other') return 'none';
  switch (handover?.phase) {
    case undefined:
      return role === 'retiring' ? 'none' : 'begins';
    case 'preparing':
    case 'syncing':
      return role === 'preparing' ? 'asks' : 'begins';
    case 'switched':
      return role === 'designated' ? 'asks' : 'begins';
    case 'retiring':
    case 'resyncing':
      return role === 'designated' ? 'asks' : role === 'retiring' ? 'passes' : 'begins';
    case 'draining':
      return role === 'retiring' ? 'none' : 'begins';
  }
}

export interface OtherEnd {
  readonly host: string;
  /** Of its tunnel. */
  readonly address: string;
  /** Sends a packet there. */
  readonly steps: string;
}

/** What leaves is looked up; what is known goes on as it did, and what is not goes where it begins. */
export function conntrackLookupFlows({ ip, key, zone }: NatContext, taken: Match, unknown: string): FlowDraft[] {
  const reg0 = hex(key);
  return [
    {
      table: TABLE.outbound,
      priority: 20,
      match: formatMatch({ ...matchIpVersion(ip), reg0, ...taken }),
      actions: formatActions(`ct(table=${TABLE.conntrack},zone=${zone},nat)`),
      reason: 'nat-known-here',
    },
    {
      // Only what is known was translated.
      table: TABLE.conntrack,
      priority: 30,
      match: formatMatch({ ...matchSource(ip), reg0 }),
      actions: formatActions(resubmit(TABLE.snat)),
      reason: 'nat-is-known',
    },
    {
      table: TABLE.conntrack,
      priority: 10,
      match: formatMatch({ ...matchIpVersion(ip), reg0 }),
      actions: unknown,
      reason: 'nat-begins-elsewhere',
    },
  ];
}

/** What comes from the old end was not known there either. */
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
      reason: 'nat-begins-here',
    },
  ];
}

/** To the old end; where it is listened for and is heard no more, what begins begins here. */
export function otherEndGroup(
  { service }: NatContext,
  { host, steps }: OtherEnd,
  context: CompileContext,
): Group | undefined {
  if (!context.isBfdMonitored(host)) return undefined;
  const here = formatActions(setField(FROM_OTHER_END, '0x1'), resubmit(TABLE.conntrack));
  const buckets = [watchBucket(bfdPortName(host), steps), watchBucket(TUNNEL_PORT, here)];
  return { id: context.allocator.group(`${service.id}/asks`), type: 'fast-failover', buckets };
}

export function otherEndActions(group: Group | undefined, { steps }: OtherEnd): string {
  return group === undefined ? steps : formatActions(groupAction(group.id));
}
