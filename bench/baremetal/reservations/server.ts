// A server with free nodes, and a manager that has registered: what reservations over HTTP are made on.
import { join } from 'node:path';
import { openSqliteStore } from '../../../src/journal/runtime.ts';
import type { BenchScope } from '../../scope.ts';
import { clientTokenId, DATABASE_FILE, managerTokenId, seededSecret, writeSeed } from '../../seeded-store.ts';
import { startServer, type ServerProcess } from '../../server-process.ts';
import { MANAGER_NAME, reservationBody, reservationFleet, type ReservationFleet } from './fleet.ts';
import { CLASSES } from '../sample-nodes.ts';

export const PATH = '/api/v1/reservations';

/** The process that the played manager is. */
export const HOLDER = 'bench';

export const clientSecrets = (clients: number): string[] =>
  Array.from({ length: clients }, (_, nth) => seededSecret(clientTokenId(nth)));

/** One of each class; `{n}` stands for the number of the request. */
export const BODIES = Array.from({ length: CLASSES }, (_, nth) => JSON.stringify(reservationBody('bench-{n}', nth)));

export async function startReservationServer(
  scope: BenchScope,
  fleet: Omit<ReservationFleet, 'manager'>,
): Promise<ServerProcess & { readonly leaseEpoch: number }> {
  const data = await scope.tempDir();
  const store = await openSqliteStore({ path: join(data, DATABASE_FILE) });
  await writeSeed(store, reservationFleet({ ...fleet, manager: 'registers' }));
  await store.close();
  const server = await startServer(scope, { data });
  return { ...server, leaseEpoch: await registerManager(server.url) };
}

/** Under a lease that lasts for the whole run. */
async function registerManager(url: string): Promise<number> {
  const headers = {
    authorization: `Bearer ${seededSecret(managerTokenId(MANAGER_NAME))}`,
    'content-type': 'application/json',
  };
  const body = JSON.stringify({ holder: HOLDER, version: '0.0.0' });
  const answer = await fetch(`${url}/api/v1/managers/${MANAGER_NAME}`, { method: 'PUT', headers, body });
  if (!answer.ok) throw new Error(`the manager is not registered: ${await answer.text()}`);
  return ((await answer.json()) as { readonly leaseEpoch: number }).leaseEpoch;
}
