// Journals that claim more than is durable, and connections that deliver less than happened.
import { Journal, StoreUnavailable, type Outcome, type Request, type Store } from '../../src/journal/index.ts';
import type { DecidedGroup } from '../../src/journal/decided-group.ts';
import { Pipeline, type PipelineOptions } from '../../src/journal/pipeline.ts';
import { acknowledged } from '../checkers/acknowledged.ts';
import { fleetsEqual } from '../checkers/fleets-equal.ts';
import type { Mutant } from './mutant.ts';
import { wrappedStore } from './wrapped-store.ts';

/** Decides at once on the fleet in memory, answers, and writes afterwards. */
class HastyJournal extends Journal {
  override async submit<A>(request: Request<A>): Promise<Outcome<A>> {
    const written = super.submit(request);
    if (this.fence === undefined) return written;
    const decision = request.decide(this.fleet);
    if (decision.kind === 'refuse' || decision.changes.length === 0) return written;
    written.catch(() => undefined);
    return { kind: 'accepted', revision: this.fleet.revision + 1, answer: decision.answer };
  }
}

export const answersBeforeDurable: Mutant = {
  name: 'answers-before-durable',
  // In others a controller that is woken by its own early answer spins first.
  likely: 1,
  bug: 'the journal answers when it has decided, not when the group is durable',
  caughtBy: [acknowledged.name],
  plant: (parts) => ({ ...parts, journal: (options) => new HastyJournal(options) }),
};

/** Takes the group behind the durable one for durable, too. */
class EarlyAnswerPipeline extends Pipeline {
  protected override promote(group: DecidedGroup, hash: string | undefined): void {
    super.promote(group, hash);
    for (const next of this.inFlight) for (const { settle } of next.decided) settle();
  }
}

class EarlyAnswerJournal extends Journal {
  protected override newPipeline(options: PipelineOptions): Pipeline {
    return new EarlyAnswerPipeline(options);
  }
}

export const answersTheNextGroup: Mutant = {
  name: 'answers-the-next-group',
  bug: 'when a group is durable, the one that was decided behind it is answered as well',
  likely: 7,
  caughtBy: [acknowledged.name],
  plant: (parts) => ({ ...parts, journal: (options) => new EarlyAnswerJournal(options) }),
};

function clientMutant(mutant: Omit<Mutant, 'plant'>, replace: (inner: Store) => Partial<Store>): Mutant {
  return {
    ...mutant,
    plant: (parts) => ({ ...parts, client: (store) => wrappedStore(store, replace(parts.client(store))) }),
  };
}

export const followerSkipsCommit = clientMutant(
  {
    name: 'follower-skips-commit',
    bug: 'a follower that reads several commits at once takes the last one without its changes',
    likely: 2,
    caughtBy: [fleetsEqual.name],
  },
  (inner) => ({
    read: async (after, limit) => {
      const answer = await inner.read(after, limit);
      if (answer.kind !== 'commits' || answer.commits.length < 2) return answer;
      const last = answer.commits.length - 1;
      return { ...answer, commits: answer.commits.map((one, at) => (at === last ? { ...one, changes: [] } : one)) };
    },
  }),
);

export const lostAnswerTakenForFailure = clientMutant(
  {
    name: 'lost-answer-taken-for-failure',
    bug: 'a write whose answer was lost is taken for one that was not done, and done again',
    likely: 27,
    caughtBy: [acknowledged.name],
  },
  (inner) => ({
    write: (group) =>
      inner.write(group).catch((error: unknown) => {
        if (!(error instanceof StoreUnavailable)) throw error;
        throw new StoreUnavailable(error.message, { outcome: 'failed', cause: error });
      }),
  }),
);
