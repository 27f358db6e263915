// Once an instance has run it keeps all its addresses until it is deleted, whatever moves or failures it goes through.
import { idOf, type AppliedChange, type Fleet } from '../../src/fleet/index.ts';
import { INSTANCE, type Instance } from '../../src/instances/index.ts';
import { capabilitiesOf, PORT, type Port } from '../../src/network/index.ts';
import type { SimulatedNetwork } from '../../src/network/runtime.ts';
import type { Checker } from './checker.ts';

export const addressesKept: Checker = {
  name: 'never: an instance that ran loses an address',
  watch: (violated, { network }) => ({
    onApplied: ({ truth, applied, entry: { commit } }) => {
      const ran = (id: string): boolean => hadRun(truth, applied, id);
      const [lost] = applied.flatMap((change) => lostAddresses(truth, { ran, backEnd: network.backEnd }, change));
      if (lost !== undefined) violated(`at ${commit.revision} by ${commit.by}: ${lost}`);
    },
  }),
};

/** Before these changes. */
function hadRun(truth: Fleet, applied: readonly AppliedChange[], id: string): boolean {
  const change = applied.find(({ kind, after }) => kind === INSTANCE.name && after?.id === id);
  const instance = change === undefined ? truth.get(INSTANCE, idOf(INSTANCE, id))?.doc : change.before?.doc;
  return (instance as Instance | undefined)?.wasActive === true;
}

interface Known {
  readonly ran: (instance: string) => boolean;
  readonly backEnd: SimulatedNetwork;
}

function lostAddresses(truth: Fleet, { ran, backEnd }: Known, { kind, before, after }: AppliedChange): string[] {
  if (kind !== PORT.name || before === undefined || after === undefined) return [];
  const [was, is] = [before.doc as Port, after.doc as Port];
  if (was.instance === undefined || was.instance !== is.instance) return [];
  const instance = truth.get(INSTANCE, idOf(INSTANCE, was.instance))?.doc;
  if (!ran(was.instance) || instance?.state === 'deleting') return [];
  // A port that was deleted at the back end by others has no address there either.
  if (!capabilitiesOf(truth, is.network).inline && backEnd.port(after.id) === undefined) return [];
  const kept = new Set(is.addresses.map(({ ip }) => ip));
  return was.addresses.flatMap(({ ip }) => (kept.has(ip) ? [] : [`port ${after.id} of ${was.instance} lost ${ip}`]));
}
