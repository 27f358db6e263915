// The simulated back end for a host that still creates or binds ports itself: such a host knows only its task, so everything else is looked
// up here.
import type { Clock } from '../../../journal/index.ts';
import type {
  PortToBind,
  PortToCreate,
  HostNetworkRequest,
  HostNetwork,
  HostNic,
  OrderPool,
  PortAnswer,
} from '../back-end.ts';
import { DEFAULT_PROJECT } from '../../model.ts';
import type { PoolKey } from '../../ports/nic-requirements.ts';
import { subnetOf } from './addresses.ts';
import type { OrderOrigin, SimulatedNetwork } from './network.ts';

interface HostNetworkOptions {
  readonly network: Pick<SimulatedNetwork, 'createFor' | 'bindFor' | 'releaseFor' | 'learnPort' | 'port'>;
  readonly clock: Clock;
  readonly poolsOf: (pool: PoolKey) => readonly OrderPool[];
}

/** How long a host waits for an answer. */
const HOST_TIMEOUT_MS = 30_000;

export function createHostNetwork({ network, clock, poolsOf }: HostNetworkOptions): HostNetwork {
  const caller = (): OrderOrigin => ({ by: 'host', deadlineAtMs: clock.nowMs() + HOST_TIMEOUT_MS });
  const poolsFor = ({ pool }: HostNic): readonly OrderPool[] => (pool === undefined ? [] : poolsOf(pool));
  return {
    create: async (request) => {
      const ports = request.nics.map((nic) => composeCreate(nic, poolsFor(nic)));
      return portAnswersOf(
        request,
        await network.createFor({ ...orderHeader(request), op: 'create', ports }, caller(), request.host),
      );
    },
    bind: async (request) => {
      // A user's port was created by its user, at the back end: the simulated one learns of it only now.
      const users = request.nics.filter(({ createdBy }) => createdBy === 'user');
      for (const nic of users) network.learnPort(composeCreate(nic, poolsFor(nic)), request.instance);
      const ports = request.nics.map((nic) => composeBind(nic, poolsFor(nic)));
      const order = { ...orderHeader(request), op: 'bind', host: request.host, ports } as const;
      return portAnswersOf(request, await network.bindFor(order, caller()));
    },
    release: async (request) => {
      // A host's task says what to destroy, not under which serial: the instance is fence enough.
      const serialOf = ({ port, serial }: HostNic): number => Math.max(serial, network.port(port)?.serial ?? 0);
      const ports = request.nics.map((nic) => ({ ...nic, serial: serialOf(nic), keeps: nic.addresses }));
      const order = { ...orderHeader(request), op: 'release', ports } as const;
      return portAnswersOf(request, await network.releaseFor(order, caller()));
    },
  };
}

function orderHeader({ instance }: HostNetworkRequest) {
  return { backEnd: 'simulated', instance } as const;
}

function composeCreate(nic: HostNic, pools: readonly OrderPool[]): PortToCreate {
  const { port, network, mac, serial, createdBy } = nic;
  const fixedIps = nic.addresses.flatMap((ip) => {
    const subnet = subnetOf(ip, pools);
    return subnet === undefined ? [] : [{ ip, subnet }];
  });
  const made = { port, network, mac, serial, nic: nic.nic, project: DEFAULT_PROJECT, createdBy };
  return { ...made, fixedIps, pick: false, pools };
}

function composeBind(nic: HostNic, pools: readonly OrderPool[]): PortToBind {
  const versions = nic.addresses.length === 0 ? [...new Set(pools.map(({ version }) => version))] : [];
  const pool = nic.pool ?? (`network:${nic.network}` as const);
  return { ...nic, pool, pools, takes: nic.takes ?? versions, drops: [], keeps: nic.addresses };
}

function portAnswersOf(
  request: HostNetworkRequest,
  carried: Awaited<ReturnType<SimulatedNetwork['bindFor']>>,
): readonly PortAnswer[] {
  if (carried.kind !== 'stale') return carried.ports;
  return request.nics.map(({ port }) => ({ port, outcome: 'taken', text: 'a newer binding of the port is known' }));
}
