// Operations that end with a reason which is not so.
import { reasonsTrue } from '../checkers/true-reasons.ts';
import { INSTANCES } from '../scenarios.ts';
import { alterSteps } from './altered-kind.ts';
import type { Mutant } from './mutant.ts';
import { withKinds } from './planting.ts';

export const deletedInsteadOfSuperseded: Mutant = {
  name: 'deleted-instead-of-superseded',
  bug: 'a move that another one has overtaken ends as if the instance had been deleted',
  scenario: INSTANCES,
  likely: 1,
  caughtBy: [reasonsTrue.name],
  plant: (parts) =>
    withKinds(parts, ['instance-move'], (kind) =>
      alterSteps(kind, (step) => {
        const { reason } = step.progress;
        if (reason?.code !== 'move-superseded') return step;
        return { ...step, progress: { ...step.progress, reason: { ...reason, code: 'instance-deleted' } } };
      }),
    ),
};
