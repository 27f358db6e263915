// Running parts of elections that others ask for, and those that others provide to it.
import { serviceKey } from '../composition/index.ts';
import type { ElectionController } from './controller.ts';
import type { BfdStatusSource } from './bfd-majority.ts';

export const ELECTION_CONTROLLER = serviceKey<ElectionController>('election');

/** What agents report of the BFD sessions with their peers. */
export interface BfdReports extends BfdStatusSource {
  /** Calls with a host whenever it becomes another matter who reports it up or down. */
  onBfdChange(listener: (host: string) => void): void;
}

export const BFD_REPORTS = serviceKey<BfdReports>('bfd-reports');
