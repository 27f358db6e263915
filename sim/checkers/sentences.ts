// Every wait, failure and alarm has a complete sentence: no code without one, no gap where a fact should be.
import { ALARM, type Alarm } from '../../src/alarms/index.ts';
import { idOf, type AppliedChange, type Fleet, type Reason } from '../../src/fleet/index.ts';
import { PROGRAM } from '../../src/main/modules.ts';
import { ITEM, OPERATION, type Item, type Operation } from '../../src/operations/index.ts';
import { problemsOfSentence } from '../../src/operations/reason-fixture.ts';
import type { Checker } from './checker.ts';

export const sentencesComplete: Checker = {
  name: 'never: a reason is without a sentence, or its sentence has a gap',
  watch: (violated) => ({
    onApplied: ({ truth, applied }) => {
      for (const change of applied) {
        const reason = reasonIn(truth, change);
        if (reason === undefined) continue;
        for (const problem of problemsOfSentence(PROGRAM.sentences, reason))
          violated(`${change.after?.id}: ${problem}`);
      }
    },
  }),
};

/** Operation kinds that exist in the simulation only have no sentences. */
function reasonIn(truth: Fleet, { kind, after }: AppliedChange): Reason | undefined {
  if (after === undefined) return undefined;
  switch (kind) {
    case ALARM.name:
      return (after.doc as Alarm).reason;
    case OPERATION.name: {
      const { kind: of, reason } = after.doc as Operation;
      return PROGRAM.operationKinds.has(of) ? reason : undefined;
    }
    case ITEM.name: {
      const { operation, reason } = after.doc as Item;
      return PROGRAM.operationKinds.has(truth.get(OPERATION, idOf(OPERATION, operation))?.doc.kind ?? '')
        ? reason
        : undefined;
    }
    default:
      return undefined;
  }
}
