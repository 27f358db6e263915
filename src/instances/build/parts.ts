// The instances of one request, decided one after the other: each sees what the ones before it take.
import { runTrial, type FleetReader } from '../../fleet/index.ts';
import type { RequestedInstance, StageChanges, ValidatedRequest } from './request.ts';

/**
 * Decides part after part, each on the result of those before it. A request for one instance with one NIC has no parts: it is decided on the
 * fleet itself, which costs less than a trial.
 */
export function decideInParts<T>(
  fleet: FleetReader,
  request: ValidatedRequest,
  decide: (seen: FleetReader, show: StageChanges) => T,
): T {
  const { names, nics, changes } = request;
  if (names.length === 1 && nics.length < 2 && changes.length === 0) return decide(fleet, refuseStaging);
  return runTrial(fleet, (trial) => {
    if (changes.length > 0) trial.add(changes);
    return decide(trial, (more) => void trial.add(more));
  });
}

function refuseStaging(): never {
  throw new Error('a request without parts shows a part');
}

export function readRequestedInstance(
  { names, flavor, nics, path, changes, revision }: ValidatedRequest,
  nth: number,
): RequestedInstance {
  return { names, flavor, nics, path, changes, revision, name: names[nth] as string, nth };
}
