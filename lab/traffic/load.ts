// Runs a load, with something that happens in the middle of it. The load lasts until that is over and a while longer, however long
// it takes.
import { setTimeout } from 'node:timers/promises';
import type { Endpoint } from './endpoint.ts';
import type { ClientFlow } from './messages.ts';
import { Ping, type PingFlow } from './ping.ts';
import { excessGapMs, combineResults, type TrafficResults } from './results.ts';

export interface Source {
  readonly endpoint: Endpoint;
  readonly flows: readonly ClientFlow[];
}

export interface TrafficLoad {
  readonly server: Endpoint;
  readonly sources: readonly Source[];
  readonly pings?: readonly PingFlow[];
  /** At least. */
  readonly durationMs: number;
  readonly eventAfterMs: number;
  /** At least this much after the event. */
  readonly tailMs: number;
}

export async function runLoad(
  load: TrafficLoad,
  event: () => Promise<void> = async () => undefined,
): Promise<TrafficResults> {
  const { server, sources } = load;
  await server.takeServed(); // forgets what was before
  await Promise.all(sources.map(({ endpoint, flows }) => endpoint.prepare(flows)));
  const pings = await Promise.all((load.pings ?? []).map(async (flow) => ({ flow, ping: await Ping.start(flow) })));
  await Promise.all(sources.map(({ endpoint }) => endpoint.begin()));
  // What happens may fail: the traffic is ended all the same, or the next load would run beside it.
  const [happened] = await Promise.allSettled([runDuringLoad(load, event)]);
  await server.stopPushing();
  const pinged = Promise.all(
    pings.map(async ({ flow: { namespace, address, everyMs }, ping }) => {
      const counted = await ping.end();
      return { from: namespace, to: address, ...counted, longestGapMs: excessGapMs(counted, everyMs) };
    }),
  );
  const ended = await Promise.all(
    sources.map(async ({ endpoint }) => ({ source: endpoint.namespace, results: await endpoint.end() })),
  );
  const results = { ...combineResults(ended, await server.takeServed()), ping: await pinged };
  if (happened.status === 'rejected') throw happened.reason;
  return results;
}

async function runDuringLoad(load: TrafficLoad, event: () => Promise<void>): Promise<void> {
  const enough = setTimeout(load.durationMs);
  await setTimeout(load.eventAfterMs);
  await event();
  await Promise.all([setTimeout(load.tailMs), enough]);
}
