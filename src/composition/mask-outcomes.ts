// What drivers bring back from other systems goes into reasons, into facts and into the log: known secrets are masked there before it is stored or logged.
import type { SecretMask } from '../access/index.ts';
import type { Driver } from '../operations/index.ts';
import type { ServiceKey } from './server-runtime.ts';

/** The secrets that this server has, to be taken out of what others wrote. */
export const SECRET_MASK: ServiceKey<SecretMask> = { name: 'secret-mask' };

export function maskDriver(driver: Driver, mask: SecretMask): Driver {
  return {
    ...(driver.maxConcurrent !== undefined && { maxConcurrent: driver.maxConcurrent }),
    carryOut: async (action, fence) => {
      try {
        return mask.maskDeep(await driver.carryOut(action, fence));
      } catch (error) {
        throw maskError(error, mask);
      }
    },
  };
}

/** The error itself when there is nothing to take out: its class says whether it is an abort. */
function maskError(error: unknown, mask: SecretMask): unknown {
  if (!(error instanceof Error)) return mask.maskDeep(error);
  const message = mask.mask(error.message);
  return message === error.message ? error : Object.assign(new Error(message), { name: error.name });
}
