// What a heartbeat is answered: the same two objects each time, so that their text is made once.
import { CONDITIONS_FEATURE, PROCESS_FEATURE, type Heard } from './messages.ts';
import type { Reply } from './ports.ts';

const KNOWS: Pick<Heard, 'readiness' | 'features'> = {
  readiness: 'per-service',
  features: [CONDITIONS_FEATURE, PROCESS_FEATURE],
};
export const KNOWN: Reply<Heard> = { kind: 'answer', answer: { report: 'known', ...KNOWS } };
export const WANTED: Reply<Heard> = { kind: 'answer', answer: { report: 'wanted', ...KNOWS } };
