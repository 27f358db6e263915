// The response to a heartbeat: the same two objects each time, so that their text is rendered once.
import {
  BFD_DOWN_PEERS_FEATURE,
  CONDITIONS_FEATURE,
  PROCESS_FEATURE,
  type HeartbeatResponse,
} from '../protocol/messages.ts';
import type { Reply } from '../../link/index.ts';

const SERVER_FEATURES: Pick<HeartbeatResponse, 'readiness' | 'features'> = {
  readiness: 'per-service',
  features: [CONDITIONS_FEATURE, PROCESS_FEATURE, BFD_DOWN_PEERS_FEATURE],
};
export const REPORT_KNOWN: Reply<HeartbeatResponse> = {
  kind: 'answer',
  answer: { report: 'known', ...SERVER_FEATURES },
};
export const REPORT_WANTED: Reply<HeartbeatResponse> = {
  kind: 'answer',
  answer: { report: 'wanted', ...SERVER_FEATURES },
};
