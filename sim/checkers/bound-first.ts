// A move must be sure of its target before anything leaves the source: when the source is asked to hand an instance over, the back
// end has every port of it bound at the target. Looked at in the back end itself, apart from what the journal says of it.
import { idOf, type Applied, type Fleet } from '../../src/fleet/index.ts';
import { HOST } from '../../src/hosts/index.ts';
import { INSTANCE } from '../../src/instances/index.ts';
import { backEndOf, PORTS_BY_INSTANCE } from '../../src/network/index.ts';
import type { SimulatedNetwork } from '../../src/network/runtime.ts';
import { ITEM, OPERATION, type Item } from '../../src/operations/index.ts';
import type { Checker } from './checker.ts';

export const boundBeforeHandOver: Checker = {
  name: 'never: an instance is handed over to a host where its ports are not bound',
  watch: ({ network }, violated) => ({
    onApplied: (truth, applied) => {
      for (const change of applied) {
        const problem = unboundTarget(truth, network.backEnd, change);
        if (problem !== undefined) violated(problem);
      }
    },
  }),
};

function unboundTarget(truth: Fleet, backEnd: SimulatedNetwork, { kind, before, after }: Applied): string | undefined {
  const [was, is] = [before?.doc as Item | undefined, after?.doc as Item | undefined];
  if (kind !== ITEM.name || is?.step !== 'migrate' || was?.step === 'migrate') return undefined;
  if (truth.get(OPERATION, idOf(OPERATION, is.operation))?.doc.kind !== 'instance-move') return undefined;
  const instance = truth.get(INSTANCE, idOf(INSTANCE, is.target.id))?.doc;
  const target = instance?.move?.tries.at(-1)?.host ?? '';
  // Where hosts bind by themselves, they do so when they run the instance.
  if (instance?.path.bind !== 'conductor' || truth.get(HOST, idOf(HOST, target))?.doc.bindsAt === 'driver')
    return undefined;
  const missing = [...truth.find(PORTS_BY_INSTANCE, is.target.id)].find(({ id, doc }) => {
    if (backEndOf(truth, doc.network).inline) return false;
    const { binding, inactive } = backEnd.port(id) ?? {};
    return ![binding, inactive].some((one) => one?.host === target && one.type === 'simulated');
  });
  return missing && `port ${missing.id} of ${is.target.id} is not bound at ${target}`;
}
