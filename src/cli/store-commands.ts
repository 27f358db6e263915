// muster verify, backup and restore: on the store itself, not through the API. Only options and texts are here.
import { Command } from 'commander';
import {
  withAction,
  addExamples,
  type Cli,
  type StoreToolOptions,
  type StoreKeys,
  type StoreKeysPlace,
  type StoreSecretKeys,
  type StoreSecretKeysPlace,
  type StoreVerification,
} from './command.ts';
import { EXIT } from './exit-code.ts';
import type { Session } from './session.ts';
import { sanitizeLine } from './output/text-width.ts';

interface StoreOption {
  readonly store?: string;
}

const STORE_ABOUT = 'sqlite in --data, or the URL of a PostgreSQL database (env MUSTER_STORE; else sqlite)';

/** Progress is shown for what takes longer. */
const PROGRESS_AFTER_MS = 2000;

const CODES = `
Exit codes of its own:
    0  everything is as it was written
    1  there is damage, or it cannot be read`;

export function verifyCommand(cli: Cli): Command {
  const command = new Command('verify')
    .description('Check a store or a backup from beginning to end, and change nothing: documents, commits, hash chain')
    .argument('[file]', 'a backup; else the store')
    .option('--store <store>', STORE_ABOUT);
  addExamples(
    command,
    ['the store of the server in ./data, while it runs or not', 'muster verify'],
    ['a backup', 'muster verify muster-backup.gz'],
  );
  command.addHelpText('after', CODES);
  return withAction<StoreOption>(cli, command, async (session, { args: [file], options }) => {
    const request = { ...storeOf(options), progress: progressOf(session, 'checked') };
    const verified = await cli.stores.verify(file === undefined ? request : { ...request, file });
    if (session.output === 'table') session.terminal.out(verificationText(verified));
    else await session.writeValue(verified);
    return verified.intact ? EXIT.ok : EXIT.refused;
  });
}

export function backupCommand(cli: Cli): Command {
  const command = new Command('backup')
    .description('Write everything that the store has to a file, as of one moment, while servers keep running')
    .argument('<file>', 'where to; it must not exist; compressed if it ends in .gz')
    .option('--store <store>', STORE_ABOUT);
  addExamples(
    command,
    ['of the server in ./data', 'muster backup muster-backup.gz'],
    ['of several servers', 'muster backup muster-backup.gz --store postgres://muster@db/muster'],
  );
  return withAction<StoreOption>(cli, command, async (session, { args: [file = ''], options }) => {
    const request = { ...storeOf(options), file, progress: progressOf(session, 'written') };
    const written = await cli.stores.backup(request);
    await session.reportDone(
      written,
      `${damageText(written)}Backup of revision ${written.revision} in ${file}: ${written.documents} documents, ${written.commits} commits.\n` +
        `SHA-256 ${written.digest ?? ''}\n${absentKeysText(written.keys)}${absentSecretKeysText(written.secretKeys)}`,
    );
    return written.intact ? EXIT.ok : EXIT.refused;
  });
}

export function restoreCommand(cli: Cli): Command {
  const command = new Command('restore')
    .description('Fill an empty store from a backup; it becomes a journal of its own, and revisions continue')
    .argument('<file>', 'the backup')
    .option('--store <store>', STORE_ABOUT)
    .option(
      '--keys <folder>',
      'where the servers will look for their keys, which no backup contains; else the data folder',
    )
    .option(
      '--secret-key <path>',
      'where the servers will look for the keys of secrets; else secret.key in the data folder',
    );
  addExamples(
    command,
    ['into a new data folder', 'muster restore muster-backup.gz --data ./data-new'],
    ['into an empty database', 'muster restore muster-backup.gz --store postgres://muster@db/muster'],
  );
  return withAction<StoreOption & { readonly keys?: string; readonly secretKey?: string }>(
    cli,
    command,
    async (session, { args: [file = ''], options }) => {
      const keys = options.keys === undefined ? {} : { keys: options.keys };
      const secretKey = options.secretKey === undefined ? {} : { secretKey: options.secretKey };
      const request = { ...storeOf(options), ...keys, ...secretKey, file, progress: progressOf(session, 'restored') };
      const restored = await cli.stores.restore(request);
      await session.reportDone(
        restored,
        `Restored revision ${restored.revision}: ${restored.documents} documents, ${restored.commits} commits. ` +
          `The journal is ${restored.journalId}. Tokens are those of the backup.${neededKeysText(restored.keys)}${neededSecretKeysText(restored.secretKeys)}`,
      );
      return undefined;
    },
  );
}

/** Comes first: what follows reads like a success. */
function damageText({ intact, damage }: StoreVerification): string {
  if (intact) return '';
  return (
    `The store is damaged, and so is this backup: ${sanitizeLine(damage.join('; '))}.\n` +
    'Keep it for inspection; "muster restore" refuses it. Use an earlier backup, or start a server with --accept-loss.\n'
  );
}

function idsOf({ signing, authorities, serial }: StoreKeys): string {
  return sanitizeLine(`signing key ${signing[0] ?? '-'}, agent CA ${authorities[0] ?? '-'}, serial ${serial}`);
}

function absentKeysText(keys: StoreKeys | undefined): string {
  if (keys === undefined) return 'No server has recorded its keys in this store.';
  return `Keys are not in it (${idsOf(keys)}): keep a copy of ${keys.file} elsewhere.`;
}

function neededKeysText(keys: StoreKeysPlace | undefined): string {
  if (keys === undefined) return '';
  const wanted = `the key file with ${idsOf(keys)}`;
  switch (keys.state) {
    case 'in-place':
      return `\nThe keys of the fleet are in ${keys.path}.`;
    case 'missing':
      return `\nBefore a server is started, put ${wanted} there: ${keys.path}`;
    case 'different':
      return `\n${keys.path} holds other keys. Before a server is started, put ${wanted} there.`;
    case 'unreadable':
      return `\n${keys.path} cannot be used as it is. Before a server is started, put ${wanted} there, for its owner alone.`;
  }
}

function sealingText({ sealing }: StoreSecretKeys): string {
  return sanitizeLine(`sealing key ${sealing.join(' and ')}`);
}

function absentSecretKeysText(keys: StoreSecretKeys | undefined): string {
  if (keys === undefined) return '';
  return `\nNor is the key of its secrets (${sealingText(keys)}): keep a copy of ${keys.file} elsewhere, apart from the backup.`;
}

function neededSecretKeysText(keys: StoreSecretKeysPlace | undefined): string {
  if (keys === undefined) return '';
  const { path, state } = keys;
  const wanted = `the file with ${sealingText(keys)}`;
  const without = 'Without it what needs a secret is refused.';
  if (path === undefined) return `\nStart the servers with --secret-key and ${wanted}. ${without}`;
  switch (state) {
    case 'in-place':
      return `\nThe key of the secrets is in ${path}.`;
    case 'missing':
      return `\nPut ${wanted} there: ${path}. ${without}`;
    case 'different':
      return `\n${path} holds another key, and no server starts with it. Put ${wanted} there.`;
    case 'unreadable':
      return `\n${path} cannot be used as it is. Put ${wanted} there, for its owner alone.`;
  }
}

function storeOf({ data, store }: StoreOption & { readonly data: string }): StoreToolOptions {
  const wanted = store ?? process.env['MUSTER_STORE'];
  return wanted === undefined ? { data } : { data, store: wanted };
}

/** On standard error, once a second, and only of what takes long. */
export function progressOf(session: Session, verb: string): (done: number, all: number) => void {
  const startedMs = session.nowMs();
  let shownMs = startedMs + PROGRESS_AFTER_MS - 1000;
  return (done, all) => {
    if (session.nowMs() - shownMs < 1000) return;
    shownMs = session.nowMs();
    session.terminal.err(`${done} of about ${all} documents and commits ${verb}\n`);
  };
}

function verificationText(verified: StoreVerification): string {
  const {
    revision,
    oldestRevision,
    documents,
    commits,
    unchained,
    digest,
    damage,
    intact,
    journalId,
    keys,
    secretKeys,
  } = verified;
  const lines = [
    `Journal    ${journalId}`,
    `Revision   ${revision} (history from ${oldestRevision} on)`,
    `Documents  ${documents}`,
    `Commits    ${commits}${unchained === 0 ? '' : `, ${unchained} of them older than the hash chain`}`,
    ...(digest === undefined ? [] : [`SHA-256    ${digest}`]),
    ...(keys === undefined ? [] : [`Keys       ${idsOf(keys)}; not contained, in ${keys.file}`]),
    ...(secretKeys === undefined
      ? []
      : [`Secrets    ${sealingText(secretKeys)}; not contained, in ${secretKeys.file}`]),
    ...(intact ? ['Everything is as it was written.'] : damage.map((one) => `Damage     ${sanitizeLine(one)}`)),
  ];
  return `${lines.join('\n')}\n`;
}
