import { noProject, wholeFleet } from '../access/index.ts';
import { hideKind, serviceKey, type Module } from '../composition/index.ts';
import { keySentences, type OwnKeys } from './decide.ts';
import { KeysController } from './keys-controller.ts';
import { CONTROL_PLANE_KEYS, keysModel } from './model.ts';

/** The keys that this server has. */
export const OWN_KEYS = serviceKey<{ ids(): OwnKeys }>('own-keys');

export const keysModule: Module = {
  name: 'keys',
  models: () => [keysModel],
  reasonCodes: ['keys-differ'],
  sentences: [keySentences],
  hiddenKinds: [hideKind(CONTROL_PLANE_KEYS, { siteOf: wholeFleet, projectOf: noProject })],
  requires: [OWN_KEYS],
  controllers: (runtime) => [new KeysController({ ...runtime.environment, keys: runtime.get(OWN_KEYS) })],
};
