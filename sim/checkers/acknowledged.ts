// Acknowledgements are durable: an accepted request is in the journal, a refused one is not, an idempotent request is not done twice, and a
// request made after an answer is ordered after it.
import { OPERATION } from '../../src/operations/index.ts';
import type { RequestRecord } from '../world/operator.ts';
import type { World } from '../world/world.ts';
import type { Checker } from './checker.ts';

export const acknowledged: Checker = {
  name: 'never: an accepted request is lost, a refused one done, or one done twice',
  watch: (violated, world) => ({
    atEnd: () => {
      const revisions = revisionsByTag(world);
      for (const request of world.requests) {
        const done = revisions.get(request.tag) ?? [];
        if (done.length === 0 && isAnsweredWithOther(world, request)) continue;
        const problem = problemWith(request, done, world.ledger.head);
        if (problem !== undefined) violated(`request ${request.tag}: ${problem}`);
      }
      const overtaking = findOvertaken(world.requests);
      if (overtaking !== undefined) violated(overtaking);
    },
  }),
};

function revisionsByTag(world: World): Map<string, number[]> {
  const byTag = new Map<string, number[]>();
  for (const { commit } of world.ledger.entries) {
    const revisions = byTag.get(commit.by);
    if (revisions === undefined) byTag.set(commit.by, [commit.revision]);
    else revisions.push(commit.revision);
  }
  return byTag;
}

/** The requested work was already in progress: the answer named its operation, and no second one began. */
function isAnsweredWithOther({ ledger }: World, { tag, answered }: RequestRecord): boolean {
  if (answered?.outcome.kind !== 'accepted') return false;
  const operation = (answered.outcome.answer as { readonly operation?: string } | null | undefined)?.operation;
  if (operation === undefined) return false;
  const by = ledger.entries.find(({ changes }) =>
    changes.some(({ kind, id }) => kind === OPERATION.name && id === operation),
  );
  return by !== undefined && by.commit.by !== tag;
}

function problemWith(
  { once, answered, arrivals }: RequestRecord,
  revisions: readonly number[],
  head: number,
): string | undefined {
  if (revisions.length > 1) return `was done ${revisions.length} times, at ${revisions.join(', ')}`;
  if (answered === undefined) return undefined;
  const { outcome } = answered;
  if (outcome.revision > head) return `was answered with revision ${outcome.revision}, the journal ends at ${head}`;
  // A request that arrived twice may be refused at first and accepted when there is capacity again.
  if (outcome.kind === 'refused' && revisions.length > 0 && arrivals === 1) return 'was refused, and done all the same';
  const [revision] = revisions;
  if (outcome.kind === 'accepted' && once && revision === undefined) return 'was accepted, and is not in the journal';
  if (outcome.kind === 'accepted' && revision !== undefined && revision > outcome.revision) {
    return `was answered with revision ${outcome.revision}, but is at ${revision}`;
  }
  return undefined;
}

/** Requested after another was answered, but ordered before it. */
function findOvertaken(requests: readonly RequestRecord[]): string | undefined {
  const answers = requests.filter((one) => one.answered?.outcome.kind === 'accepted');
  const byAnswer = answers.toSorted((one, other) => (one.answered?.atStep ?? 0) - (other.answered?.atStep ?? 0));
  const bySending = answers.toSorted((one, other) => one.sentAtStep - other.sentAtStep);
  let highest: RequestRecord | undefined;
  let at = 0;
  for (const one of bySending) {
    for (; (byAnswer[at]?.answered?.atStep ?? Infinity) < one.sentAtStep; at += 1) {
      const answer = byAnswer[at] as RequestRecord;
      if (revisionOf(answer) > revisionOf(highest)) highest = answer;
    }
    if (revisionOf(one) < revisionOf(highest)) {
      return `${one.tag} was asked after ${highest?.tag} was answered, but has revision ${revisionOf(one)} below ${revisionOf(highest)}`;
    }
  }
  return undefined;
}

function revisionOf(request: RequestRecord | undefined): number {
  return request?.answered?.outcome.revision ?? 0;
}
