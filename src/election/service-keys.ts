// Service keys of elections: running parts that other modules use, and those that others provide.
import { serviceKey } from '../composition/index.ts';
import type { ElectionController } from './controller.ts';
import type { BfdStatusSource } from './bfd-majority.ts';

export const ELECTION_CONTROLLER = serviceKey<ElectionController>('election');

/** What agents report of the BFD sessions with their peers. */
export interface BfdReports extends BfdStatusSource {
  /** Calls back with a host whenever a peer's BFD report of it changes. */
  onBfdChange(listener: (host: string) => void): void;
}

export const BFD_REPORTS = serviceKey<BfdReports>('bfd-reports');
