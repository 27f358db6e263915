// A network back end that is unreachable, slow, wrong, or used by others as well.
import { SUBNET, type Subnet } from '../../src/network/index.ts';
import type { SimulatedNetwork } from '../../src/network/runtime.ts';
import type { World } from '../world/world.ts';
import type { Fault } from './fault.ts';

function mendLater(world: World, mend: () => void): string {
  const forMs = world.rng.between(500, 15_000);
  world.scheduler.after(forMs, 'the network is mended', mend);
  return `for ${forMs} ms`;
}

export const networkCut: Fault = {
  name: 'network-cut',
  weight: 2,
  strike: (world) => {
    const { path } = world.network;
    if (path.cut) return undefined;
    path.cut = true;
    return mendLater(world, () => (path.cut = false));
  },
};

export const networkSlow: Fault = {
  name: 'network-slow',
  weight: 4,
  strike: (world) => {
    const { path } = world.network;
    path.slowMs = world.rng.pick([100, 1000, 8000]);
    return mendLater(world, () => (path.slowMs = 0));
  },
};

export const networkFails: Fault = {
  name: 'network-fails',
  weight: 6,
  strike: (world) => {
    const { path } = world.network;
    path.failPercent = world.rng.pick([20, 50, 80]);
    return mendLater(world, () => (path.failPercent = 0));
  },
};

type NewFault = Parameters<SimulatedNetwork['faults']['arm']>[0];

const LOST = ['applied-but-lost', 'unavailable', 'hang', 'ok'] as const;
const OUTCOMES: Readonly<Record<'create' | 'bind' | 'activate' | 'unbind' | 'delete', readonly NewFault['outcome'][]>> =
  {
    create: [...LOST, 'pool-empty', 'quota', 'forbidden'],
    bind: [
      ...LOST,
      'binding-failed',
      'binding-failed',
      'pool-empty',
      'pool-empty',
      'mapping-gone',
      'address-not-carried',
    ],
    activate: [...LOST, 'binding-failed'],
    // A port that vanishes before it is unbound would also vanish by a late unbind, from under a running instance.
    unbind: LOST,
    delete: [...LOST, 'not-found'],
  };

export const backEndErrs: Fault = {
  name: 'back-end-errs',
  weight: 10,
  strike: (world) => {
    const { rng, network } = world;
    const op = rng.pick(['create', 'bind', 'bind', 'bind', 'activate', 'unbind', 'delete'] as const);
    const outcome = rng.pick(OUTCOMES[op]);
    const delayMs = outcome === 'ok' ? rng.pick([500, 5000, 40_000]) : rng.pick([0, 0, 0, 3000]);
    const where =
      op === 'bind' && rng.chance(0.5) && world.machines.length > 0 ? { host: rng.pick(world.machines).name } : {};
    const armed = network.backEnd.faults.arm({ op, outcome, delayMs, times: rng.between(1, 3), ...where });
    return armed.kind === 'accept' ? `${op} ${outcome}` : undefined;
  },
};

/** Every bind there is reported as done and is not connected. */
export const hostNotBindable: Fault = {
  name: 'back-end-refuses-host',
  weight: 4,
  strike: (world) => {
    const { rng, network, machines } = world;
    if (machines.length === 0) return undefined;
    const { name: host } = rng.pick(machines);
    const armed = network.backEnd.faults.arm({ op: 'bind', host, outcome: 'binding-failed', times: rng.between(2, 6) });
    return armed.kind === 'accept' ? host : undefined;
  },
};

/** A host loses a port of a running instance, or cannot plug the next ones. */
export const portUnplugged: Fault = {
  name: 'port-unplugged',
  weight: 3,
  strike: ({ rng, network: { backEnd } }) => {
    const bound = [...backEnd.ports()].flatMap(([id, { binding }]) => (binding === undefined ? [] : [id]));
    if (bound.length > 0 && rng.chance(0.5)) {
      const port = rng.pick(bound);
      return backEnd.unplug(port) ? port : undefined;
    }
    const outcome = rng.pick(['plug-failed', 'unplugged', 'hang'] as const);
    const armed = backEnd.faults.arm({ op: 'plug', outcome, times: rng.between(1, 3) });
    return armed.kind === 'accept' ? `next: ${outcome}` : undefined;
  },
};

export const silentBackEnd: Fault = {
  name: 'back-end-silent',
  weight: 1,
  strike: (world) => {
    const { backEnd } = world.network;
    backEnd.eventsEnabled = false;
    return mendLater(world, () => (backEnd.eventsEnabled = true));
  },
};

/** Another user takes the first free address of a pool. */
export const foreignAddress: Fault = {
  name: 'foreign-address',
  weight: 1,
  strike: (world) => {
    const subnets = [...world.truth.all(SUBNET)].filter(
      ({ doc }) => doc.version === 4 && doc.network.endsWith('simulated'),
    );
    if (subnets.length === 0) return undefined;
    const { id, doc } = world.rng.pick(subnets);
    const ip = addressesOf(doc).find((one) => world.network.backEnd.addForeign(id, one));
    return ip === undefined ? undefined : `${ip} of ${id}`;
  },
};

function addressesOf({ pools }: Subnet): string[] {
  return pools.flatMap(({ first, last }) => {
    const [net, from] = [first.slice(0, first.lastIndexOf('.')), lastByte(first)];
    return Array.from({ length: lastByte(last) - from + 1 }, (_, at) => `${net}.${from + at}`);
  });
}

function lastByte(ip: string): number {
  return Number(ip.slice(ip.lastIndexOf('.') + 1));
}
