// A host in a small world, for tests of what is compiled: three hosts, two networks behind one router, a way out.
import type { CompileResult } from './compile.ts';
export { macOf } from '../switch/derived-ids.ts';
export { encodeArpFrame } from '../packets/arp.ts';
export { encodeNdFrame } from '../packets/nd-frame.ts';
import {
  domainOf,
  type DataplaneView,
  type DomainView,
  type RouterView,
  type ServiceView,
} from '../view/dataplane-view.ts';

export const C2 = { host: 'c2', tunnelAddress: '172.16.0.2' };
export const C3 = { host: 'c3', tunnelAddress: '172.16.0.3' };

export const BLUE = {
  id: 'blue-v4',
  network: 'blue',
  domain: 'network/blue',
  cidr: '10.0.0.0/24',
  gateway: '10.0.0.1',
};
const BLUE_V6 = { ...BLUE, id: 'blue-v6', cidr: '2001:db8:1::/64', gateway: '2001:db8:1::1' };
const RED = {
  ...BLUE,
  id: 'red-v4',
  network: 'red',
  domain: 'network/red',
  cidr: '10.1.0.0/24',
  gateway: '10.1.0.1',
};

const mac = (nth: number): string => `fa:16:3e:00:00:${String(nth).padStart(2, '0')}`;
export const HERE = {
  id: 'port-1',
  mac: mac(1),
  network: 'blue',
  addresses: ['10.0.0.11', '2001:db8:1::11'],
};
const FAR = { id: 'port-2', mac: mac(2), addresses: ['10.0.0.12', '2001:db8:1::12'], host: 'c2' };
const FAR_RED = { id: 'port-3', mac: mac(3), addresses: ['10.1.0.13'], host: 'c3' };

export const DOMAINS: readonly DomainView[] = [
  { id: domainOf({ network: 'blue' }), key: 0x1000, subnets: [BLUE, BLUE_V6], ports: [FAR] },
  { id: domainOf({ network: 'red' }), key: 0x1001, subnets: [RED], ports: [FAR_RED] },
];
export const EDGE: RouterView = { id: 'edge', key: 0x2000, subnets: [BLUE, BLUE_V6, RED] };

export function nat(facts: Partial<ServiceView> = {}): ServiceView {
  return {
    id: 'nat:edge',
    type: 'nat',
    epoch: 1,
    role: 'other',
    designated: C2,
    subnets: [BLUE, RED],
    router: 'edge',
    via: '198.51.100.1',
    nat: { router: 'edge', ip: '198.51.100.7' },
    ...facts,
  };
}

export function subnetService(type: 'subnet-route' | 'dhcp', facts: Partial<ServiceView> = {}): ServiceView {
  const [subnet, via] = type === 'dhcp' ? [BLUE, undefined] : [BLUE_V6, '2001:db8:ff::1'];
  const { nat: _nat, router, via: _via, ...rest } = nat({ id: `${type}:${subnet.id}`, type, subnets: [subnet] });
  return { ...rest, ...(via !== undefined && { via, router: router ?? '' }), ...facts };
}

export function view(facts: Partial<DataplaneView> = {}): DataplaneView {
  return {
    host: 'c1',
    tombstoned: false,
    excluded: false,
    peers: [C2, C3],
    networks: { domains: DOMAINS, routers: [EDGE] },
    services: [],
    ports: [HERE],
    bfd: { intervalMs: 100, peers: [] },
    ...facts,
  };
}

/** The flows of one owner, as a person writes them down. */
export function flowsOf({ contents, owners }: CompileResult, id: string): string[] {
  return contents.flows
    .filter(({ cookie }) => owners.get(cookie)?.id === id)
    .map(({ table, priority, match, actions }) => `${table} ${priority} ${match} -> ${actions}`);
}
