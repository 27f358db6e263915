// The services of a subnet: its route to and from the external network, and DHCP. The designated host serves both; during a handover the
// other end also serves what still reaches it.
import { linkLocalOf, isIpv6 } from '../packets/address.ts';
import { redirectGroup, tunnelBucket, isAddressResponder, isRedirecting } from './nat.ts';
import { ndResponderFlows } from './router.ts';
import { macOf } from '../switch/derived-ids.ts';
import {
  findTunnelHop,
  serviceOwner,
  findExternalHop,
  type FlowDraft,
  type CompileContext,
  type FlowFragment,
} from './flow-fragment.ts';
import type { ServiceView, SubnetView, LocalPortView } from '../view/dataplane-view.ts';
import { EXTERNAL_PORT, TABLE } from '../switch/tables.ts';
import {
  formatActions,
  matchSource,
  resubmit,
  hex,
  formatMatch,
  output,
  setField,
  matchDestination,
  TO_AGENT,
  groupAction,
} from '../switch/flow-syntax.ts';

/**
 * The external network knows one next hop only: a link address that moves with the service. Outgoing IPv4 is translated and is not the
 * business of this service.
 */
export function compileSubnetRoute(service: ServiceView, context: CompileContext): FlowFragment {
  const owner = serviceOwner(service);
  const key = context.routers.get(service.router ?? '');
  const [subnet] = service.subnets;
  if (key === undefined || subnet === undefined) {
    return { owner, flows: [], gaps: [{ owner, reason: 'no-tunnel-key', what: service.router ?? service.id }] };
  }
  const reg0 = hex(key);
  // What the standby sends in place of the designated host comes back to the designated host; the standby sends nothing by IPv4.
  const lets = service.role === 'standby' ? isIpv6(subnet.cidr) : service.role !== 'other';
  const comesIn: FlowDraft[] = lets
    ? [
        {
          table: TABLE.classify,
          priority: 55,
          match: formatMatch({ ...matchDestination(subnet.cidr), in_port: EXTERNAL_PORT }),
          actions: formatActions(setField('reg0', reg0), resubmit(TABLE.route)),
          reason: 'subnet-route-ingress',
        },
      ]
    : [];
  if (!isIpv6(subnet.cidr)) return { owner, flows: comesIn };
  const leaves = compileEgress(service, { subnet, key, context });
  return {
    ...leaves,
    flows: [...comesIn, ...leaves.flows, ...(isAddressResponder(service) ? nextHopFlows(service) : [])],
  };
}

/** External hosts reach the subnet by this link address; it is the same wherever the service is placed. */
export function advertisedNextHopOf(service: string): { readonly ip: string; readonly mac: string } {
  const mac = macOf('service', service);
  return { ip: linkLocalOf(mac), mac };
}

function nextHopFlows({ id }: ServiceView): FlowDraft[] {
  const { ip, mac } = advertisedNextHopOf(id);
  return ndResponderFlows({ target: ip, mac, inPort: EXTERNAL_PORT, table: TABLE.classify }, 'subnet-route-responder');
}

interface EgressOptions {
  readonly subnet: SubnetView;
  readonly key: number;
  readonly context: CompileContext;
}

function compileEgress(service: ServiceView, { subnet, key, context }: EgressOptions): FlowFragment {
  const owner = serviceOwner(service);
  const source = { ...matchSource(subnet.cidr), reg0: hex(key) };
  const away = isRedirecting(service) ? findTunnelHop(service, service.designated?.host, context) : undefined;
  const group = context.allocator.group(service.id);
  const out = service.role === 'other' ? undefined : findExternalHop(service, service.via, context);
  // What peers send here leaves here; what starts here leaves here once this host sends to itself.
  const fromPeers = isRedirecting(service) ? { reg4: '0x1' } : {};
  const flows: FlowDraft[] = [];
  if (away?.address !== undefined) {
    flows.push({
      table: TABLE.outbound,
      priority: 25,
      match: formatMatch(source),
      actions: formatActions(groupAction(group)),
      reason: 'subnet-route-redirect',
    });
  }
  if (out?.address !== undefined) {
    const steps = [
      setField('eth_src', advertisedNextHopOf(service.id).mac),
      setField('eth_dst', out.address),
      output(EXTERNAL_PORT),
    ];
    flows.push({
      table: TABLE.outbound,
      priority: 30,
      match: formatMatch({ ...source, ...fromPeers }),
      actions: formatActions(...steps),
      reason: 'subnet-route-egress',
    });
  }
  return {
    owner,
    flows,
    groups:
      away?.address === undefined ? [] : [redirectGroup(service, { id: group, key, address: away.address }, context)],
    gaps: [...(away?.gaps ?? []), ...(out?.gaps ?? [])],
  };
}

/** Requests are answered on the host where they start only when it is the designated one; otherwise they are sent to it. */
export function compileDhcp(
  service: ServiceView,
  context: CompileContext,
  here: readonly LocalPortView[],
): FlowFragment {
  const owner = serviceOwner(service);
  const [subnet] = service.subnets;
  const key = subnet === undefined ? undefined : context.domains.get(subnet.domain);
  if (subnet === undefined || key === undefined) {
    return { owner, flows: [], gaps: [{ owner, reason: 'no-tunnel-key', what: subnet?.domain ?? service.id }] };
  }
  const away = isDhcpServer(service) ? undefined : findTunnelHop(service, service.designated?.host, context);
  const group = context.allocator.group(service.id);
  const matches =
    away === undefined
      ? formatActions(TO_AGENT)
      : away.address === undefined
        ? undefined
        : formatActions(groupAction(group));
  const flows = here.flatMap(({ mac }): FlowDraft[] => {
    const request = formatMatch({ is: 'udp', metadata: hex(key), dl_src: mac, tp_src: 68, tp_dst: 67 });
    if (matches === undefined) return [];
    return [{ table: TABLE.ingress, priority: 60, match: request, actions: matches, reason: 'dhcp-request' }];
  });
  const buckets = away?.address === undefined ? [] : [tunnelBucket(away.address, key)];
  return {
    owner,
    flows,
    groups: buckets.length === 0 ? [] : [{ id: group, type: 'indirect', buckets }],
    gaps: away?.gaps ?? [],
  };
}

function isDhcpServer({ role, handover }: ServiceView): boolean {
  return role === 'designated' || (role === 'retiring' && handover?.phase === 'switched');
}

/** Requests that peers send here, for a domain whose service this host provides, or may have to for a moment. */
export function dhcpTunnelFlows(
  domain: { readonly id: string; readonly key: number },
  services: readonly ServiceView[],
): FlowDraft[] {
  const answers = services.some(
    ({ type, role, subnets }) => type === 'dhcp' && role !== 'other' && subnets.some((one) => one.domain === domain.id),
  );
  if (!answers) return [];
  const key = hex(domain.key);
  return [
    {
      table: TABLE.tunnel,
      priority: 60,
      match: formatMatch({ is: 'udp', tun_id: key, tp_src: 68, tp_dst: 67 }),
      actions: formatActions(setField('metadata', key), TO_AGENT),
      reason: 'dhcp-request-from-peer',
    },
  ];
}

/** Packets that peers send here to leave by a router whose way out this host provides, or may have to for a moment. */
export function routerTunnelFlows(
  router: { readonly id: string; readonly key: number },
  services: readonly ServiceView[],
): FlowDraft[] {
  const takes = services.some((one) => one.router === router.id && one.role !== 'other' && one.type !== 'dhcp');
  if (!takes) return [];
  return [
    {
      table: TABLE.tunnel,
      priority: 60,
      match: formatMatch({ tun_id: hex(router.key) }),
      actions: formatActions(setField('reg0', hex(router.key)), setField('reg4', '0x1'), resubmit(TABLE.outbound)),
      reason: 'tunnel-to-router',
    },
  ];
}
