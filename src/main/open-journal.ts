// Opens the journal of a server: damage and loss are named, and the start is refused unless exactly that was accepted.
import type { Logger } from 'pino';
import type { IntegrityFinding } from '../alarms/index.ts';
import { findKeyIds } from '../keys/index.ts';
import { Journal, StoreDamaged, type JournalOptions } from '../journal/index.ts';
import type { OpenStore } from './open-store.ts';
import { StartFailure } from './start-failure.ts';
import type { WitnessFinding, Witness } from './witness.ts';

export interface OpenJournalOptions {
  readonly open: OpenStore;
  readonly witness: Witness;
  readonly log: Logger;
  /** The revision to which an operator accepts to fall back. */
  readonly acceptLoss: number | undefined;
  readonly journal: Omit<JournalOptions, 'store'>;
}

export interface OpenedJournal {
  readonly journal: Journal;
  /** What was accepted, to be recorded. */
  readonly accepted: readonly IntegrityFinding[];
}

export async function openJournal(options: OpenJournalOptions): Promise<OpenedJournal> {
  const { open, acceptLoss } = options;
  const journal = new Journal({ ...options.journal, store: open.store });
  const repaired = await openOrRepair(journal, options);
  const lost = await examineWitness(journal, options);
  const accepted = [...repaired, ...lost];
  if (acceptLoss !== undefined && accepted.length === 0) {
    throw new StartFailure(
      `--accept-loss ${acceptLoss} was given, but nothing is lost: the store is at revision ${journal.fleet.revision}. ` +
        `Start without it.`,
    );
  }
  return { journal, accepted };
}

async function openOrRepair(
  journal: Journal,
  { open, log, acceptLoss }: OpenJournalOptions,
): Promise<IntegrityFinding[]> {
  try {
    await journal.open();
    return [];
  } catch (error) {
    if (!(error instanceof StoreDamaged) || error.head === undefined) throw error;
    const { head, message } = error;
    if (acceptLoss !== head) throw refusal(`The store ${open.name} is damaged: ${message}.`, head);
    log.error({ damage: error.damage, acceptLoss }, 'the store is damaged, which was accepted');
    const notes = await open.repair();
    for (const note of notes) log.warn({ note }, 'repaired');
    await journal.open();
    return [lossAcceptedFinding(head, { detail: truncate([message, ...notes].join('; ')) })];
  }
}

async function examineWitness(
  journal: Journal,
  { witness, open, log, acceptLoss }: OpenJournalOptions,
): Promise<IntegrityFinding[]> {
  const finding = await witness.examine(open.store, journal.fleet.revision);
  if (finding.kind === 'nothing-known' && finding.why !== undefined) log.warn({ why: finding.why }, 'no witness');
  if (finding.kind === 'other-journal') return assessOtherJournal(journal, finding, { open, log, acceptLoss });
  if (finding.kind !== 'lost') return [];
  const { seen, head, fallsBackTo } = finding;
  if (acceptLoss !== fallsBackTo) {
    const range = fallsBackTo + 1 === seen ? `revision ${seen} was` : `revisions ${fallsBackTo + 1} to ${seen} were`;
    throw refusal(
      `The store ${open.name} has lost commits: ${range} acknowledged, and ${fallsBackTo === head ? `it ends at ${head}` : 'it has others there'}. ` +
        `Was an older database put in its place?`,
      fallsBackTo,
    );
  }
  log.error({ seen, head, fallsBackTo }, 'the store has lost commits, which was accepted');
  return [lossAcceptedFinding(fallsBackTo, { lostTo: seen })];
}

/**
 * The store is not the one that this folder was used with. One that a backup was restored into names the earlier journal; any other is
 * another fleet's database, and to continue would silently drop what this folder's fleet has acknowledged.
 */
function assessOtherJournal(
  journal: Journal,
  { journalId, seen, head }: Extract<WitnessFinding, { kind: 'other-journal' }>,
  { open, log, acceptLoss }: Pick<OpenJournalOptions, 'open' | 'log' | 'acceptLoss'>,
): IntegrityFinding[] {
  if (findKeyIds(journal.fleet)?.journals.includes(journalId) === true) {
    log.info({ journalId, seen }, 'the store was restored from a backup of the journal of this data folder');
    return [];
  }
  const what =
    `The store ${open.name} belongs to another fleet than this data folder: it has the journal ${journal.journalId}, and ` +
    `revision ${seen} of the journal ${journalId} was acknowledged here. Was the database of another fleet put in its place?`;
  if (acceptLoss !== head) throw refusal(what, head);
  log.error({ journalId, seen, head }, 'the store belongs to another fleet than this data folder, which was accepted');
  return [lossAcceptedFinding(head, { detail: what })];
}

function lossAcceptedFinding(revision: number, facts: Readonly<Record<string, string | number>>): IntegrityFinding {
  const place = String(revision);
  return { code: 'loss-accepted', place, facts: { ...facts, revision, place } };
}

/** An alarm is a document, and documents have a size limit. */
const DETAIL_MAX = 2000;

function truncate(text: string): string {
  return text.length <= DETAIL_MAX ? text : `${text.slice(0, DETAIL_MAX)}…`;
}

function refusal(what: string, revision: number): StartFailure {
  return new StartFailure(
    `${what} Bring the right database back, or restore a backup ("muster restore"). To go on with what is there, and accept ` +
      `that the rest is lost, start once with --accept-loss ${revision}.`,
  );
}
