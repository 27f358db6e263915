// Creates what an empty fleet needs: a site, and a token for the operator who started it. Done once, by the lease holder.
import type { Logger } from 'pino';
import { hasAdmin } from '../access/index.ts';
import { ensureAdminToken } from '../api/runtime.ts';
import type { FleetReader } from '../fleet/index.ts';
import { DEFAULT_TRANSPORT_ZONE } from '../hosts/index.ts';
import { accept, NotHolder, type Clock, type Decision, type Ids, type Journal, type Lease } from '../journal/index.ts';
import { createTransportZone } from '../network/index.ts';
import { createSite, FIRST_SITE, SITE } from '../sites/index.ts';
import { endFirstStart } from './earlier-fleet.ts';
import { StartFailure } from './start-failure.ts';

export interface FirstStartOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly lease: { holder(): Lease | undefined };
  readonly dataFolder: string;
  readonly newAdminToken: boolean;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

const LOOK_MS = 20;
const RETRY_MS = 1000;

/** Resolves when some server holds the lease (or the wait is aborted) and, if it is this one, the initial documents are committed. */
export async function prepareFirstStart(start: FirstStartOptions): Promise<void> {
  const { journal, clock, ids, lease, dataFolder, newAdminToken, log, signal } = start;
  onFirstCommit(journal, () => endFirstStart(dataFolder));
  while (lease.holder() === undefined && !signal.aborted) await clock.sleep(LOOK_MS, signal);
  if (journal.fence === undefined) {
    const holder = lease.holder()?.url;
    if (newAdminToken && holder !== undefined) throw new StartFailure(describeOtherLeader(holder));
    void beginWhenDeciding(start);
    return;
  }
  try {
    await beginFleet(journal, clock.nowMs());
    const path = await ensureAdminToken({ journal, clock, ids, dataFolder, force: newAdminToken });
    if (path !== undefined) log.info({ path }, 'made an admin token');
  } catch (error) {
    // Another server took over at this very moment, and does the same.
    if (!(error instanceof NotHolder)) throw error;
  }
}

/** Another server may initialise the fleet, later than this one has started. */
function onFirstCommit(journal: Journal, work: () => void): void {
  if (journal.fleet.revision > 0) {
    work();
    return;
  }
  const off = journal.onCommit(() => {
    off();
    work();
  });
}

/** The lease holder may die before it has initialised the fleet: the next holder does it then. */
async function beginWhenDeciding({ journal, clock, ids, dataFolder, log, signal }: FirstStartOptions): Promise<void> {
  while (!signal.aborted && !(journal.fleet.revision > 0 && hasAdmin(journal.fleet, clock.nowMs()))) {
    try {
      if (journal.fence !== undefined) {
        await beginFleet(journal, clock.nowMs());
        const path = await ensureAdminToken({ journal, clock, ids, dataFolder });
        if (path !== undefined) log.info({ path }, 'made an admin token');
      }
    } catch (error) {
      // Retried until some server has done it.
      log.warn({ err: error }, 'the fleet is not initialised yet');
    }
    await clock.sleep(RETRY_MS, signal);
  }
}

function describeOtherLeader(holder: string): string {
  return `Only the lease holder makes tokens, and that is ${holder}. Start that one with --new-admin-token.`;
}

/** Only on the very first start: a site or a zone that an operator has deleted does not come back. */
async function beginFleet(journal: Journal, nowMs: number): Promise<void> {
  if (journal.fleet.revision > 0) return;
  await journal.submit({
    by: 'first start',
    why: 'an empty fleet has one site, and one zone for the tunnels of its hosts',
    decide: (fleet): Decision<unknown> =>
      fleet.count(SITE) > 0 ? accept([], undefined) : decideFirstDocuments(fleet, nowMs),
  });
}

function decideFirstDocuments(fleet: FleetReader, nowMs: number): Decision<unknown> {
  const by = 'first start';
  const site = createSite(fleet, { name: FIRST_SITE, description: 'the first site', by, nowMs });
  // A fleet grows into it: in a full mesh, the peers of all hosts together grow with the square of the fleet.
  const zone = createTransportZone(fleet, { name: DEFAULT_TRANSPORT_ZONE, by, nowMs });
  if (site.kind === 'refuse' || zone.kind === 'refuse') return site.kind === 'refuse' ? site : zone;
  return accept([...site.changes, ...zone.changes], undefined);
}
