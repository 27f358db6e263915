// The settings of the simulated machines.
import { Type } from 'typebox';
import { setting } from '../../../fleet/index.ts';

const TIME = Type.Integer({ minimum: 0, maximum: 3_600_000 });

export const SIMULATED_INVENTORY = setting('baremetal.simulated', {
  about:
    'How simulated bare-metal machines behave. claims: `inline` (the journal is the inventory), `endpoint` (a claim is a call) or `direct` (a claim is ' +
    'written on the node). checksEpochs: whether a machine refuses calls under an older epoch, as most real ones cannot. The times are how long a ' +
    'machine takes.',
  schema: Type.Object(
    {
      claims: Type.Enum(['inline', 'endpoint', 'direct']),
      checksEpochs: Type.Boolean(),
      deployMs: TIME,
      cleanMs: TIME,
      powerMs: TIME,
    },
    { additionalProperties: false },
  ),
  defaultValue: { claims: 'inline', checksEpochs: true, deployMs: 2000, cleanMs: 1000, powerMs: 500 },
});
export type SimulatedInventorySettings = (typeof SIMULATED_INVENTORY)['defaultValue'];
