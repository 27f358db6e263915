// The two ends of a hand-over of source NAT: both translate what they know, and one of them alone gives out ports for what begins. Were
// both to do so, two connections could be seen as the same one outside, and one of them would have to become another.
// Until the old host retires it begins everything, also what is sent to the new one already. From then on the new one does, from ports
// of their own as long as it does not know all that the old one gave out; when it does, it is an ordinary designated host.
import { heartbeatPort } from './keys.ts';
import type { Draft, Ground } from './piece.ts';
import type { ShownService } from './shown.ts';
import type { Group } from './switch.ts';
import { TABLE, TUNNEL_PORT } from './tables.ts';
import { actions, from, goTo, hex, isV6, match, ofVersion, set, toGroup, watching, type Match } from './words.ts';

/** Packets that the other end of a hand-over does not know: whoever gets them begins a connection. */
const FROM_OTHER_END = 'reg6';
/** Below those that clients take by themselves, which are kept in translation where they are free. */
const OWN_PORTS = '24576-32767';

export interface Nat {
  readonly service: ShownService;
  /** Of the router. */
  readonly key: number;
  readonly ip: string;
  readonly zone: number;
}

/** `begins`: gives out ports. `asks`: leaves that to the old end. `passes`: leaves it to the new end. `none`: translates nothing by itself. */
export type Giving = 'begins' | 'asks' | 'passes' | 'none';

export function givingOf({ role, handOver }: ShownService): Giving {
  if (role === 'other') return 'none';
  switch (handOver?.phase) {
    case undefined:
      return role === 'retiring' ? 'none' : 'begins';
    case 'preparing':
    case 'seeding':
      return role === 'preparing' ? 'asks' : 'begins';
    case 'switched':
      return role === 'designated' ? 'asks' : 'begins';
    case 'retiring':
    case 'reseeding':
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
export function knownFlows({ ip, key, zone }: Nat, taken: Match, unknown: string): Draft[] {
  const reg0 = hex(key);
  return [
    {
      table: TABLE.outbound,
      priority: 20,
      match: match({ ...ofVersion(ip), reg0, ...taken }),
      actions: actions(`ct(table=${TABLE.known},zone=${zone},nat)`),
      why: 'nat-known-here',
    },
    {
      // Only what is known was translated.
      table: TABLE.known,
      priority: 30,
      match: match({ ...from(ip), reg0 }),
      actions: actions(goTo(TABLE.translated)),
      why: 'nat-is-known',
    },
    {
      table: TABLE.known,
      priority: 10,
      match: match({ ...ofVersion(ip), reg0 }),
      actions: unknown,
      why: 'nat-begins-elsewhere',
    },
  ];
}

/** What comes from the old end was not known there either. */
export function beginningFlows({ ip, key, zone }: Nat, { address }: OtherEnd): Draft[] {
  const reg0 = hex(key);
  const outside = isV6(ip) ? `[${ip}]` : ip;
  return [
    {
      table: TABLE.arrivals,
      priority: 65,
      match: match({ ...ofVersion(ip), tun_id: reg0, [isV6(address) ? 'tun_ipv6_src' : 'tun_src']: address }),
      actions: actions(set('reg0', reg0), set('reg4', '0x1'), set(FROM_OTHER_END, '0x1'), goTo(TABLE.outbound)),
      why: 'nat-from-other-end',
    },
    {
      table: TABLE.known,
      priority: 20,
      match: match({ ...ofVersion(ip), reg0, [FROM_OTHER_END]: '0x1' }),
      actions: actions(`ct(commit,table=${TABLE.translated},zone=${zone},nat(src=${outside}:${OWN_PORTS}))`),
      why: 'nat-begins-here',
    },
  ];
}

/** To the old end; where it is listened for and is heard no more, what begins begins here. */
export function askingGroup({ service }: Nat, { host, steps }: OtherEnd, ground: Ground): Group | undefined {
  if (!ground.listensFor(host)) return undefined;
  const here = actions(set(FROM_OTHER_END, '0x1'), goTo(TABLE.known));
  const buckets = [watching(heartbeatPort(host), steps), watching(TUNNEL_PORT, here)];
  return { id: ground.numbers.group(`${service.id}/asks`), type: 'fast-failover', buckets };
}

export function asking(group: Group | undefined, { steps }: OtherEnd): string {
  return group === undefined ? steps : actions(toGroup(group.id));
}
