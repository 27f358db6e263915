// What an empty fleet begins with when the server that decides first does not get to it.
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { accessModel, TOKEN } from '../access/index.ts';
import { Registry } from '../fleet/index.ts';
import { Journal, type Lease } from '../journal/index.ts';
import { FaultyStore, takeLease, RecordingClock } from '../journal/journal-fixture.ts';
import { MemoryDisk } from '../journal/runtime.ts';
import { hostsModel } from '../hosts/index.ts';
import { networkModel, TRANSPORT_ZONE } from '../network/index.ts';
import { operationsModel } from '../operations/index.ts';
import { SITE, sitesModel } from '../sites/index.ts';
import { prepareFirstStart } from './first-start.ts';
import { StartFailure } from './start-failure.ts';

const LEASE_MS = 10_000;

function fleetOfServers() {
  const clock = new RecordingClock();
  const disk = new MemoryDisk({ journalId: 'test', nowMs: () => clock.now });
  const stop = new AbortController();
  const logged: string[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void logged.push(line) });

  async function server(name: string) {
    const store = new FaultyStore(disk);
    const registry = new Registry([accessModel, operationsModel, sitesModel, hostsModel, networkModel]);
    let count = 0;
    const ids = { next: (prefix: string) => `${prefix}-${name}-${(count += 1)}`, secret: () => `secret-of-${name}` };
    const journal = new Journal({ store, registry, clock, ids });
    await journal.open();
    const dataFolder = mkdtempSync(join(tmpdir(), 'muster-first-'));
    onTestFinished(() => rmSync(dataFolder, { recursive: true, force: true }));
    let known: Lease | undefined;
    const lead = async (): Promise<void> => {
      const answer = await takeLease(store, name);
      if (answer.kind !== 'held') throw new Error('another server holds the lease');
      known = answer.lease;
      await journal.lead({ lease: 'fleet', epoch: answer.lease.epoch });
    };
    const sees = async (): Promise<void> => {
      known = await store.readLease('fleet');
    };
    const begin = (newAdminToken = false): Promise<void> =>
      prepareFirstStart({
        ...{ journal, clock, ids, dataFolder, newAdminToken, log },
        lease: { holder: () => known },
        signal: stop.signal,
      });
    return { store, journal, tokenFile: join(dataFolder, 'admin-token'), lead, sees, begin };
  }

  /** One that decides, and one that was started beside it. */
  async function pair() {
    const [holder, other] = [await server('one'), await server('two')];
    await holder.lead();
    await other.sees();
    return { holder, other };
  }

  onTestFinished(() => stop.abort());
  return { clock, stop, logged: () => logged.join(''), pair };
}

/** Long enough for some rounds of every waiting loop: no sleep takes real time here. */
async function someRounds(): Promise<void> {
  for (let count = 0; count < 300; count += 1) await turn();
}

const contentsOf = ({ fleet }: Journal) => ({
  sites: [...fleet.all(SITE)].length,
  zones: [...fleet.all(TRANSPORT_ZONE)].map(({ id }): string => id),
  tokens: [...fleet.all(TOKEN)].length,
});

describe('a fleet that the server which decides has not begun', () => {
  test('is begun by the one that decides next', async () => {
    const { clock, logged, pair } = fleetOfServers();
    const { other } = await pair();
    await other.begin();
    await someRounds();
    expect(contentsOf(other.journal)).toEqual({ sites: 0, zones: [], tokens: 0 });
    // The holder dies, and its lease runs out.
    clock.now += LEASE_MS + 1;
    await other.lead();
    await expect.poll(logged).toContain('made an admin token');
    expect(contentsOf(other.journal)).toEqual({ sites: 1, zones: ['default'], tokens: 1 });
    expect(statSync(other.tokenFile).mode & 0o777).toBe(0o600);
  });

  test('gets its token although the site was made before the holder died', async () => {
    const { clock, pair } = fleetOfServers();
    const { holder, other } = await pair();
    await other.begin();
    // What the holder writes after the site is lost with it.
    holder.store.fates.push('served', 'failed', 'failed', 'failed', 'failed', 'failed', 'failed');
    await expect(holder.begin()).rejects.toThrow('the store does not answer');
    clock.now += LEASE_MS + 1;
    await other.lead();
    await expect.poll(() => contentsOf(other.journal)).toEqual({ sites: 1, zones: ['default'], tokens: 1 });
    expect(existsSync(other.tokenFile)).toBe(true);
  });

  test('is left alone once the holder has begun it, whoever decides later', async () => {
    const { clock, pair } = fleetOfServers();
    const { holder, other } = await pair();
    await other.begin();
    await holder.begin();
    await other.journal.catchUp();
    await someRounds();
    const { length: slept } = clock.slept;
    clock.now += LEASE_MS + 1;
    await other.lead();
    await someRounds();
    expect(contentsOf(other.journal)).toEqual({ sites: 1, zones: ['default'], tokens: 1 });
    expect(existsSync(holder.tokenFile)).toBe(true);
    expect(existsSync(other.tokenFile)).toBe(false);
    // No server looks any more.
    expect(clock.slept).toHaveLength(slept);
  });

  test('is tried again when the store does not answer', async () => {
    const { clock, logged, pair } = fleetOfServers();
    const { other } = await pair();
    await other.begin();
    clock.now += LEASE_MS + 1;
    other.store.fates.push('failed', 'failed', 'failed', 'failed', 'failed', 'failed');
    await other.lead();
    await expect.poll(() => contentsOf(other.journal)).toEqual({ sites: 1, zones: ['default'], tokens: 1 });
    expect(logged()).toContain('the fleet is not initialised yet');
  });

  test('is not begun by a server that has been stopped', async () => {
    const { clock, stop, pair } = fleetOfServers();
    const { other } = await pair();
    await other.begin();
    stop.abort();
    await someRounds();
    clock.now += LEASE_MS + 1;
    await other.lead();
    await someRounds();
    expect(contentsOf(other.journal)).toEqual({ sites: 0, zones: [], tokens: 0 });
  });
});

test('a new admin token is refused by a server that does not decide, with the one to start', async () => {
  const { pair } = fleetOfServers();
  const { other } = await pair();
  await expect(other.begin(true)).rejects.toThrow(StartFailure);
  await expect(other.begin(true)).rejects.toThrow('and that is test://one. Start that one with --new-admin-token.');
});
