// A manager inside a server: the same program, dialling its own server. Its token is in a file of the data folder; a server that decides makes one
// where there is none.
import { X509Certificate } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { createToken, newSecret, TOKEN, tokenIdIn } from '../access/index.ts';
import { hashSecret } from '../api/runtime.ts';
import { isPaused, MANAGER } from '../baremetal/index.ts';
import {
  IronicMachines,
  PauseGate,
  startManager,
  type IronicClient,
  type RunningManager,
} from '../baremetal/runtime.ts';
import { idOf } from '../fleet/index.ts';
import { isJournalAway } from '../journal/index.ts';
import { fingerprintsOf, type CertificateLink } from '../link/index.ts';
import { realClock } from './clock.ts';
import type { ControlPlane } from './control-plane.ts';
import { realIds } from './ids.ts';

export interface EmbeddedManagerOptions {
  readonly name: string;
  readonly dataFolder: string;
  readonly version: string;
  /** The certificate of the server. */
  readonly tlsCert?: string | undefined;
  readonly log: Logger;
  /** The Ironic whose machines it drives, too. */
  readonly ironic?: IronicClient | undefined;
}

const FILE_MODE = 0o600;
const RETRY_MS = 1000;

export async function startEmbeddedManager(
  plane: ControlPlane,
  options: EmbeddedManagerOptions,
): Promise<Pick<RunningManager, 'stop'>> {
  const { version, tlsCert, log, ironic } = options;
  const name = options.name.toLowerCase();
  const over = new AbortController();
  const known: { secret?: string } = {};
  const finding = findSecret(plane, { ...options, name }, known, over.signal);
  const certificate = tlsCert === undefined ? undefined : new X509Certificate(await readFile(tlsCert));
  const holder = realIds().next('manager');
  const pauseGate = new PauseGate();
  const unfollow = followPause(plane, { name, holder, pauseGate });
  const running = startManager({
    ...{ name, version, log, holder, pauseGate, clock: realClock, ids: realIds(), random: Math.random },
    isEmbedded: true,
    servers: [plane.url],
    token: () => known.secret,
    certify: certifyHere(plane, name),
    // Its own server, on this machine.
    insecure: true,
    machines: ironic === undefined ? [] : [new IronicMachines(ironic)],
    pins: certificate === undefined ? [] : [fingerprintsOf(certificate).publicKey],
  });
  return {
    stop: async () => {
      over.abort('stopped');
      unfollow();
      await running.stop();
      await finding;
    },
  };
}

/** Its own server issues its certificates: where they are required, only who has one gets another over the network. */
function certifyHere({ managerIssuer }: ControlPlane, name: string): CertificateLink['renew'] {
  return async (_to, { certificateRequest }) => {
    if (managerIssuer === undefined) return NOT_ISSUED;
    const requested = managerIssuer.verifyRequest(certificateRequest);
    if ('code' in requested) return { kind: 'refused', code: requested.code, message: requested.message };
    return { kind: 'answer', answer: managerIssuer.issue(requested, { kind: 'manager', name }) };
  };
}

const NOT_ISSUED = {
  kind: 'refused',
  code: 'manager-certificates-off',
  message: 'This server issues no certificates to managers.',
} as const;

/** What was said at any server holds here. */
function followPause(
  { journal }: ControlPlane,
  { name, holder, pauseGate }: { readonly name: string; readonly holder: string; readonly pauseGate: PauseGate },
): () => void {
  const follow = (): void => {
    if (isPaused(journal.fleet, name, holder)) pauseGate.pause();
    else pauseGate.resume();
  };
  const stops = [
    journal.onCommit(({ applied }) => {
      if (applied.some(({ kind, after, before }) => kind === MANAGER.name && (after ?? before)?.id === name)) follow();
    }),
    journal.onRebuilt(follow),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

async function findSecret(
  plane: ControlPlane,
  { name, dataFolder, log }: EmbeddedManagerOptions,
  known: { secret?: string },
  signal: AbortSignal,
): Promise<void> {
  const path = join(dataFolder, `manager-${name}-token`);
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    const kept = await readIfThere(path);
    const secret = kept === undefined || isForgotten(plane, name, kept) ? await makeSecret(plane, name, path) : kept;
    if (secret !== undefined) {
      known.secret = secret;
      return;
    }
    if (isFirst)
      log.warn(
        { manager: name, path },
        'the manager waits for its token: put one there, or let this server decide once',
      );
    await realClock.sleep(RETRY_MS, signal);
  }
}

/** It was forgotten while its server did not run it: the token ended with that, and it begins anew. */
function isForgotten({ journal: { fleet } }: ControlPlane, name: string, secret: string): boolean {
  const token = tokenIdIn(secret);
  const isRevoked = token !== undefined && fleet.get(TOKEN, idOf(TOKEN, token))?.doc.revoked !== undefined;
  return isRevoked && fleet.get(MANAGER, idOf(MANAGER, name)) === undefined;
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Undefined while another server decides. */
async function makeSecret({ journal }: ControlPlane, manager: string, path: string): Promise<string | undefined> {
  if (journal.fence === undefined) return undefined;
  const { id, secret, hash } = newSecret({ ids: realIds(), hash: hashSecret });
  const by = `manager ${manager}`;
  const token = {
    id,
    name: by,
    role: 'manager' as const,
    manager,
    hash,
    createdAtMs: realClock.nowMs(),
    createdBy: by,
  };
  try {
    const why = 'a manager starts with this server';
    const outcome = await journal.submit({ by, why, decide: (fleet) => createToken(fleet, token) });
    if (outcome.kind === 'refused') throw new Error(outcome.refusal.message);
  } catch (error) {
    if (isJournalAway(error)) return undefined;
    throw error;
  }
  await writeFile(path, `${secret}\n`, { mode: FILE_MODE });
  return secret;
}
