// What modules do on hosts, in the agent's process. A module that does something there says so in its `node-module.ts` and is added here and
// nowhere else; what the agent itself does is in `agent/node/node-driver.ts`.
import type { NodeModule } from '../composition/index.ts';

/** In the order of `scripts/lint/module-order.ts`. */
export const NODE_MODULES: readonly NodeModule[] = [];
