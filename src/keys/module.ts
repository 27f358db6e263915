import { noProject, wholeFleet } from '../access/index.ts';
import { hideKind, provide, serviceKey, type Module } from '../composition/index.ts';
import { keySentences, type OwnKeys } from './decide.ts';
import { KeysController } from './keys-controller.ts';
import { CONTROL_PLANE_KEYS, keysModel } from './model.ts';
import { sealingKeyRoutes } from './routes.ts';
import { NO_SECRETS, sealedKinds, secretSentences, SECRETS } from './secrets.ts';

/** The keys that this server has. */
export const OWN_KEYS = serviceKey<{ ids(): OwnKeys }>('own-keys');

export const keysModule: Module = {
  name: 'keys',
  models: () => [keysModel],
  reasonCodes: ['keys-differ', 'secret-damaged', 'secret-key-missing'],
  sentences: [keySentences, secretSentences],
  hiddenKinds: [hideKind(CONTROL_PLANE_KEYS, { siteOf: wholeFleet, projectOf: noProject })],
  requires: [OWN_KEYS],
  services: [provide(SECRETS, () => NO_SECRETS)],
  controllers: (runtime) => [new KeysController({ ...runtime.environment, keys: runtime.get(OWN_KEYS) })],
  routes: (runtime) => {
    const kinds = runtime.composition.models.flatMap((model) => model.kinds);
    return sealingKeyRoutes(runtime.get(SECRETS), sealedKinds(kinds));
  },
};
