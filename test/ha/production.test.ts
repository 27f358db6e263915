// The steps of docs/production.md, run on three machines: look at the database, bring a host in, upgrade server by server, renew
// certificates, switch the database over. Every command and what it said is printed, for the page.
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { connect } from 'node:tls';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { start } from '../cli/muster.ts';
import { endChild } from '../end-child.ts';
import { check, GOOD } from './check.ts';
import { waitFor } from './wait-for.ts';
import { MACHINES, type MachineName } from './network.ts';
import { makeCertificate } from './servers.ts';
import { startReferenceSetup, missingRequirement, waitForWrites, type ReferenceSetup } from './reference-setup.ts';

const MUSTER = resolve(import.meta.dirname, '../../bin/muster.js');
/** Beside the servers in use, on one of their machines. */
const RESTORED_PORT = 7071;
const reason = await missingRequirement();

if (reason !== undefined && process.env['CI'] !== 'true') test.skip(`the reference set-up: ${reason}`);
else describe('the reference set-up', () => suite());

function suite(): void {
  let world: ReferenceSetup;
  beforeAll(async () => {
    if (reason !== undefined) throw new Error(reason);
    world = await startReferenceSetup();
  }, 600_000);
  afterAll(() => world?.stop());

  /** A command of the page, where an operator is: not on one of the machines. */
  async function muster(...args: readonly string[]): Promise<string> {
    const servers = ['--server', world.servers.url('m2'), '--token-file', join(world.folder, 'm1/muster/admin-token')];
    const env = { PATH: process.env['PATH'], NODE_EXTRA_CA_CERTS: world.servers.ca };
    const { stdout } = await promisify(execFile)(process.execPath, [MUSTER, ...servers, ...args], { env });
    process.stdout.write(`$ muster ${args.join(' ')}\n${stdout}`.replaceAll(/:[0-9a-f]{24}@/g, ':…@'));
    return stdout;
  }

  async function patronictl(...args: readonly string[]): Promise<string> {
    const config = join(world.folder, 'm1/patroni.yml');
    const { stdout } = await promisify(execFile)('patronictl', ['-c', config, ...args]);
    process.stdout.write(`$ patronictl ${args.join(' ')}\n${stdout}`);
    return stdout;
  }

  test('patronictl-shows-a-leader-and-a-synchronous-standby', async () => {
    const shown = await patronictl('list');
    expect(shown).toMatch(/Leader/);
    expect(shown).toMatch(/Sync Standby/);
  });

  test('a-host-joins-and-stays-up-while-servers-are-upgraded-one-by-one', async () => {
    await muster('hosts', 'join', 'c1', '--vcpus', '64', '--memory', '256GiB', '--disk', '2TiB');
    const token = /mst_\S+/.exec(await muster('hosts', 'join-token', 'c1'))?.[0] ?? '';
    const home = join(world.folder, 'c1');
    mkdirSync(home, { mode: 0o700 });
    writeFileSync(join(home, 'join-token'), token, { mode: 0o600 });
    const all = MACHINES.map((machine) => world.servers.url(machine)).join(',');
    const how = ['--server', all, '--ca', world.servers.ca, '--join-token-file', join(home, 'join-token')];
    const agent = start(['agent', ...how, '--state', join(home, 'state'), '--simulate']);
    await waitFor('host c1 to be active', async () =>
      (await muster('hosts', 'list')).includes('active') ? true : undefined,
    );
    const load = await world.startLoad('upgrade');
    onTestFinished(() => load.stop());
    const startedAtMs = performance.now();
    for (const machine of MACHINES) {
      await world.servers.program(machine).stop('SIGTERM');
      world.servers.startOne(machine);
      await world.servers.isReady(machine);
      await waitForWrites(load, 60);
    }
    const { writesMs, readsMs } = load.unavailability(startedAtMs);
    await load.stop();
    process.stdout.write(`upgrade: no write for ${writesMs.toFixed(0)} ms, no read for ${readsMs.toFixed(0)} ms\n`);
    for (const verdict of Object.values(await check(load, world.servers, world.database)))
      expect(verdict).toEqual(GOOD);
    expect(await muster('hosts', 'list')).toMatch(/c1 .* active +up/);
    await endChild(agent.child, 'SIGTERM');
  });

  test('certificates-are-renewed-without-a-restart', async () => {
    for (const machine of MACHINES) {
      const before = await shownBy(world, machine);
      makeCertificate(world.folder, machine, world.network.address(machine));
      world.servers.program(machine).signal('SIGHUP');
      const renewed = readFileSync(join(world.folder, machine, 'cert.pem'), 'utf8').trim();
      await waitFor('the new certificate', async () =>
        (await shownBy(world, machine)) === renewed ? true : undefined,
      );
      expect(before).not.toBe(renewed);
    }
    // Servers still forward to each other.
    await muster('sites', 'create', 'north');
  });

  test('a-backup-under-load-is-restored-into-a-new-database', async () => {
    const load = await world.startLoad('backup');
    onTestFinished(() => load.stop());
    const before = load.acknowledged.map(({ id }) => id);
    const file = join(world.folder, 'muster-backup.gz');
    await muster('backup', file, '--store', world.database.storeUrl);
    await muster('verify', file);
    const primary = await world.database.primary();
    await world.database.query(primary, 'CREATE DATABASE restored OWNER muster');
    const restored = world.database.storeUrl.replace(/\/muster$/, '/restored');
    await muster('restore', file, '--store', restored);
    await muster('verify', '--store', restored);
    await load.stop();
    // Everything that was acknowledged before the backup began, and nothing that never was.
    const rows = await world.database.query<{ id: string }>(
      primary,
      `SELECT id FROM muster.resource WHERE kind = 'token'`,
      'restored',
    );
    const there = new Set(rows.map(({ id }) => id));
    expect(before.filter((id) => !there.has(id))).toEqual([]);
    const original = await world.database.query<{ id: string }>(
      primary,
      `SELECT id FROM muster.resource WHERE kind = 'token'`,
      'muster',
    );
    const known = new Set(original.map(({ id }) => id));
    expect([...there].filter((id) => !known.has(id))).toEqual([]);

    // The servers start on it, with the keys that were kept beside the backup, and show the fleet of the backup.
    const data = join(world.folder, 'restored');
    world.servers.copyKeysTo(data);
    const server = world.servers.serve('m1', { storeUrl: restored, port: RESTORED_PORT, data });
    onTestFinished(() => server.stop('SIGTERM'));
    await world.servers.isReady('m1', server, RESTORED_PORT);
    const at = world.servers.url('m1', RESTORED_PORT);
    expect(new Set(await namesOf('token', at))).toEqual(there);
    expect(await namesOf('sites', at)).toEqual(await namesOf('sites'));
    expect(await namesOf('hosts', at)).toEqual(await namesOf('hosts'));
    expect(await namesOf('sites', at)).toContain('north');
    expect(await namesOf('hosts', at)).toContain('c1');
    await muster('--server', at, 'sites', 'create', 'after-the-restore');
    expect(await namesOf('sites')).not.toContain('after-the-restore');
  });

  /** What a server lists, by name; of the servers in use unless another one is named. */
  async function namesOf(kind: string, server = world.servers.url('m2')): Promise<string[]> {
    const listed = JSON.parse(await muster('--server', server, kind, 'list', '--output', 'json')) as { id: string }[];
    return listed.map(({ id }) => id).toSorted();
  }

  test('the-database-is-switched-over-by-command', async () => {
    const load = await world.startLoad('patronictl');
    onTestFinished(() => load.stop());
    const leader = await world.database.primary();
    const startedAtMs = performance.now();
    await patronictl('switchover', '--master', leader, '--force');
    await waitForWrites(load, 60);
    const { writesMs, readsMs } = load.unavailability(startedAtMs);
    await load.stop();
    process.stdout.write(`switchover: no write for ${writesMs.toFixed(0)} ms, no read for ${readsMs.toFixed(0)} ms\n`);
    for (const verdict of Object.values(await check(load, world.servers, world.database)))
      expect(verdict).toEqual(GOOD);
    await world.database.settled();
    await patronictl('list');
  });
}

async function shownBy({ servers, network }: ReferenceSetup, machine: MachineName): Promise<string> {
  const ca = readFileSync(servers.ca);
  const socket = connect({ port: 7070, host: network.address(machine), ca });
  await once(socket, 'secureConnect');
  const pem = socket.getPeerX509Certificate()?.toString() ?? '';
  socket.destroy();
  return pem.trim();
}
