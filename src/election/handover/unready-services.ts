// Services that a host's agent cannot provide yet, in the agent's words, taken from the reasons of handovers: every server must answer the same.
import type { FleetReader } from '../../fleet/index.ts';
import { OPEN_ITEMS_BY_TARGET, targetKey } from '../../operations/index.ts';
import { SERVICE, SERVICES_TOUCHING_HOST } from '../model.ts';
import { SERVICE_NOT_READY } from './conntrack-sync.ts';

interface Unready {
  readonly service: string;
  readonly because: string;
  readonly operation: string;
}

export function findUnreadyServices(fleet: FleetReader, host: string): Unready[] {
  return [...fleet.find(SERVICES_TOUCHING_HOST, host)].flatMap(({ id: service }) =>
    [...fleet.find(OPEN_ITEMS_BY_TARGET, targetKey(SERVICE.name, service))].flatMap(({ doc }) => {
      const { reason, operation } = doc;
      const isHere = reason?.code === SERVICE_NOT_READY && reason['host'] === host;
      return isHere ? [{ service, because: String(reason['because']), operation }] : [];
    }),
  );
}
