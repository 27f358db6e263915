// A simulated network with two segments, and short helpers for orders.
import { expect } from 'vitest';
import type { BackEndFence, PortToBind, OrderResult, PortToCreate, PortToRelease, OrderPool } from '../back-end.ts';
import { ManualClock } from '../clock-fixture.ts';
import type { NetworkEventReport } from '../../ports/event.ts';
import type { NewFault } from './faults.ts';
import { SimulatedNetwork } from './network.ts';

export const NEAR: OrderPool = {
  subnet: 'near',
  version: 4,
  cidr: '10.0.0.0/24',
  ranges: [{ first: '10.0.0.1', last: '10.0.0.4' }],
  reserved: ['10.0.0.1'],
};
export const NEAR6: OrderPool = {
  subnet: 'near6',
  version: 6,
  cidr: '2001:db8::/64',
  ranges: [{ first: '2001:db8::10', last: '2001:db8::ffff:ffff:ffff' }],
};
export const FAR: OrderPool = { subnet: 'far', version: 4, ranges: [{ first: '10.1.0.5', last: '10.1.0.9' }] };

interface SimulatedNetworkWorld {
  readonly clock: ManualClock;
  readonly reports: readonly NetworkEventReport[];
  readonly network: SimulatedNetwork;
  readonly fence: BackEndFence;
  create(ports: readonly Partial<PortToCreate>[], at?: BackEndFence): Promise<OrderResult>;
  bind(host: string, ports: readonly Partial<PortToBind>[], at?: BackEndFence): Promise<OrderResult>;
  end(op: 'unbind' | 'release', port: string, serial: number, more?: Partial<PortToRelease>): Promise<OrderResult>;
}

export function world(faults: readonly NewFault[] = []): SimulatedNetworkWorld {
  const clock = new ManualClock();
  const reports: NetworkEventReport[] = [];
  const network = new SimulatedNetwork({
    clock,
    emit: (one) => reports.push(one),
    poolsOf: (pool) => (pool === 'segment:near' ? [NEAR, NEAR6] : [FAR]),
  });
  for (const fault of faults) expect(network.faults.arm(fault).kind).toBe('accept');
  const fence = { leaseEpoch: 1, deadlineAtMs: clock.nowMs() + 60_000, signal: new AbortController().signal };
  const face = { backEnd: 'simulated', instance: 'web' } as const;
  const create = (ports: readonly Partial<PortToCreate>[], at: BackEndFence = fence) =>
    network.create({ ...face, op: 'create', ports: ports.map((port, nic) => composeCreate(port, nic)) }, at);
  const bind = (host: string, ports: readonly Partial<PortToBind>[], at: BackEndFence = fence) =>
    network.bind({ ...face, op: 'bind', host, ports: ports.map((port, nic) => composeBind(port, nic)) }, at);
  const end = (op: 'unbind' | 'release', port: string, serial: number, more = {}) =>
    network[op]({ ...face, op, ports: [{ port, serial, nic: 0, createdBy: 'muster', ...more }] }, fence);
  return { clock, reports, network, fence, create, bind, end };
}

export function composeCreate(port: Partial<PortToCreate>, nic: number): PortToCreate {
  const made = { port: `p${nic}`, network: 'n', mac: `fa:16:3e:00:00:0${nic}`, serial: 0, nic, project: 'default' };
  return { ...made, createdBy: 'muster', fixedIps: [], pick: false, pools: [], ...port };
}

function composeBind(port: Partial<PortToBind>, nic: number): PortToBind {
  const wanted = { port: `p${nic}`, serial: 1, nic, pool: 'segment:near', segment: 'near', takes: [4] } as const;
  return { ...wanted, drops: [], keeps: [], pools: [NEAR], ...port };
}

export const ips = (network: SimulatedNetwork, port: string): string[] =>
  network.port(port)?.addresses.map(({ ip }) => ip) ?? [];
export const outcomes = (carried: OrderResult): string[] =>
  carried.kind === 'stale' ? ['stale'] : carried.ports.map(({ outcome }) => outcome);
