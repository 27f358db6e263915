// The journal of a server with what notices that its store is not what it was: the witness, a history that diverged, a clock that jumped,
// the check of its file. What is found before the modules are composed is passed to them as soon as they are.
import type { Logger } from 'pino';
import {
  clockJumpedFinding,
  historyDivergedFinding,
  storeDamagedFinding,
  type IntegrityFinding,
} from '../alarms/index.ts';
import type { INTEGRITY_CONTROLLER } from '../alarms/module.ts';
import type { ServiceOf } from '../composition/index.ts';
import type { Journal } from '../journal/index.ts';
import { realClock } from './clock.ts';
import { realIds } from './ids.ts';
import { PROGRAM } from './modules.ts';
import { openJournal } from './open-journal.ts';
import type { OpenStore } from './open-store.ts';
import { findJumpAtStart } from './trusted-time.ts';
import { Witness } from './witness.ts';

export interface WatchedJournalOptions {
  readonly dataFolder: string;
  readonly log: Logger;
  /** The revision to which an operator accepts to fall back. */
  readonly acceptLoss?: number;
  /** Of this server, for operators. */
  readonly name: string;
}

type Integrity = Pick<ServiceOf<typeof INTEGRITY_CONTROLLER>, 'report'>;

export interface WatchedJournal {
  readonly journal: Journal;
  /** Everything that was found is on record: the witness records again. */
  readonly release: () => void;
  /** Says what was found so far, and from now on what is. Answers how to begin the check that takes a while. */
  readonly reportTo: (integrity: Integrity) => Promise<() => void>;
  readonly close: () => void;
}

export async function openWatchedJournal(open: OpenStore, options: WatchedJournalOptions): Promise<WatchedJournal> {
  const { dataFolder, log, acceptLoss, name } = options;
  const witness = new Witness(dataFolder);
  const reported: { integrity?: Integrity } = {};
  const { journal, accepted } = await openJournal({
    ...{ open, witness, log, acceptLoss },
    journal: {
      ...{ registry: PROGRAM.newRegistry(), clock: realClock, ids: realIds() },
      onPosition: (position) => witness.record(open.store.journalId, position),
      onDiverged: (divergence) => {
        witness.hold();
        reported.integrity?.report(historyDivergedFinding(divergence));
      },
      onListenerError: (err) => log.error({ err }, 'a listener to the journal failed'),
    },
  });
  const release = (): void => witness.release(journal.journalId, journal.position);
  return {
    journal,
    release,
    reportTo: async (integrity) => {
      reported.integrity = integrity;
      for (const finding of accepted) integrity.report(acceptedByOperator(finding));
      if (accepted.length === 0) release();
      const jump = await findJumpAtStart(open.store, realClock.nowMs());
      if (jump !== undefined) integrity.report(clockJumpedFinding(name, jump));
      return open.check((findings) => {
        if (findings.length > 0) integrity.report(storeDamagedFinding(findings));
      });
    },
    close: () => witness.close(),
  };
}

function acceptedByOperator(finding: IntegrityFinding): Parameters<Integrity['report']>[0] {
  return { ...finding, by: 'accept-loss' };
}
