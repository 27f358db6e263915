// The network of one world: one back end that outlives every server and every host, the path to it, and the path of its events to the
// servers.
import type { Clock } from '../../src/journal/index.ts';
import {
  NETWORK_EVENTS,
  composeOrderPools,
  recordNetworkEvents,
  type NetworkEventReport,
} from '../../src/network/index.ts';
import { SimulatedNetwork } from '../../src/network/runtime.ts';
import { WORLD_BEGINS_MS } from '../kernel/clock.ts';
import type { Rng } from '../kernel/rng.ts';
import type { Link } from './link.ts';
import { NetworkPath } from './network-path.ts';
import type { Operator } from './operator.ts';
import type { Server } from './server.ts';
import type { World } from './world.ts';

/** How often events that were not confirmed are repeated. */
const NOTIFICATIONS_MAX = 5;
/** Some of them arrive when the port is bound elsewhere by now. */
const SLOW_NEWS_MS = 20_000;

export class SimNetwork {
  readonly backEnd: SimulatedNetwork;
  readonly path = new NetworkPath();
  readonly rng: Rng;
  readonly #world: World;
  /** The path of events within the same process. */
  readonly #link: Link;
  /** The path of events as a request to any server. */
  readonly #notifier: Operator;
  #notified = 0;

  constructor(world: World) {
    this.#world = world;
    this.rng = world.rng.fork();
    this.#link = world.newLink();
    this.#notifier = world.newOperator('network');
    this.backEnd = new SimulatedNetwork({
      clock: clockOf(world),
      emit: (news) => this.#notify(news),
      // A back end knows its subnets; here it reads them from the documents.
      poolsOf: (pool) => composeOrderPools(world.truth, pool),
    });
  }

  heal(): void {
    this.path.heal();
    this.backEnd.faults.disarm();
    this.backEnd.eventsEnabled = true;
  }

  /** Like a back end inside the lease holder's process, or like an external one: by a request that is repeated. */
  #notify(news: NetworkEventReport): void {
    const slowMs = this.#world.isTroubled && this.rng.chance(0.2) ? this.rng.between(1, SLOW_NEWS_MS) : 0;
    this.#world.scheduler.after(slowMs, `the network sends an event of ${news.port}`, () => {
      if (this.rng.chance(0.5)) void this.#notifyByRequest(news);
      else this.#notifyInProcess(news);
    });
  }

  #notifyInProcess(news: NetworkEventReport): void {
    const message = {
      label: `news of ${news.port}`,
      to: this.#pickServer(),
      repeatable: true,
      serve: async ({ runtime }: NonNullable<Server['incarnation']>) => runtime.get(NETWORK_EVENTS).enqueue(news),
    };
    this.#link.send(message, () => undefined);
  }

  #pickServer(): Server {
    const { servers } = this.#world;
    return servers.find(({ incarnation }) => incarnation?.journal.fence !== undefined) ?? this.rng.pick(servers);
  }

  async #notifyByRequest(news: NetworkEventReport): Promise<void> {
    for (let tells = 0; tells < NOTIFICATIONS_MAX; tells += 1) {
      const tag = `news-${(this.#notified += 1)}`;
      const outcome = await this.#notifier.ask({
        tag,
        once: false,
        request: ({ clock }) => {
          const nowMs = clock.nowMs();
          return { by: tag, decide: (fleet) => recordNetworkEvents(fleet, { events: [news], nowMs }) };
        },
      });
      if (outcome !== undefined) return;
    }
  }
}

/** The back end's own clock, which is correct. Its waits belong to no server. */
function clockOf({ scheduler }: World): Clock {
  const after = (ms: number): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    scheduler.after(ms, 'the network takes its time', () => resolve(undefined));
    return promise;
  };
  return {
    nowMs: () => WORLD_BEGINS_MS + scheduler.nowMs,
    sleep: (ms) => after(Math.max(1, Math.ceil(ms))),
    turn: () => after(0),
  };
}
