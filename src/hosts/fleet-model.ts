// The model of hosts: their document kinds, indexes and projections, and what must hold for every commit.
import type { FleetReader, Id, Invariant, Model } from '../fleet/index.ts';
import { SITE } from '../sites/index.ts';
import { HOST_MIGRATIONS } from './migrations.ts';
import {
  HOST,
  HOST_TRANSITIONS,
  HOSTS_BY_IDENTITY,
  HOSTS_BY_SITE,
  HOSTS_BY_STATE,
  type Host,
  type HostId,
} from './model.ts';
import { MOVE_TIMES } from './preview/move-times.ts';
import { PENDING_BY_HOST, PENDING_BY_PEER, PENDING_CLEAN_UP } from './scale-in/pending-clean-up.ts';
import { SERVICE_VERSIONS } from './service-version.ts';
import { addressKey, TUNNEL_ADDRESSES } from './tunnel-address-index.ts';

const legalStates: Invariant = {
  name: 'never: a host takes a step that its table does not have',
  check: (changed) =>
    changed.flatMap(({ kind, before, after }) => {
      if (kind !== HOST.name || before === undefined || after === undefined) return [];
      const [from, to] = [(before.doc as Host).state, (after.doc as Host).state];
      return from === to || HOST_TRANSITIONS[from].includes(to) ? [] : [`host ${after.id}: ${from} to ${to}`];
    }),
};

const hasSite: Invariant = {
  name: 'never: a host is in a site that does not exist',
  check: (changed, fleet: FleetReader) =>
    changed.flatMap(({ kind, after }) => {
      if (kind !== HOST.name || after === undefined) return [];
      const { site } = after.doc as Host;
      return fleet.get(SITE, site as Id<'site'>) === undefined ? [`host ${after.id} is in "${site}"`] : [];
    }),
};

const activeHasConnected: Invariant = {
  name: 'never: a host becomes active before its agent sent a heartbeat',
  check: (changed) =>
    changed.flatMap(({ kind, before, after }) => {
      if (kind !== HOST.name || after === undefined) return [];
      const [was, is] = [before?.doc as Host | undefined, after.doc as Host];
      const isConnected = is.connection.state === 'up' && is.credential !== undefined;
      return is.state === 'active' && was?.state === 'joining' && !isConnected ? [`host ${after.id}`] : [];
    }),
};

/** Stores of earlier versions may have hosts that share an address: only addresses assigned in this commit are checked. */
const oneTunnelAddress: Invariant = {
  name: 'never: a host gets the tunnel address of another',
  check: (changed, fleet) =>
    changed.flatMap(({ kind, before, after }) => {
      if (kind !== HOST.name || after === undefined) return [];
      const [was, is] = [before?.doc as Host | undefined, after.doc as Host];
      const key = addressKey(is);
      const hadIt = was !== undefined && was.state !== 'removed' && addressKey(was) === key;
      if (key === undefined || is.state === 'removed' || hadIt) return [];
      const others = fleet.projection(TUNNEL_ADDRESSES).hostsAt(key).filter((id) => id !== after.id); // prettier-ignore
      const living = others.filter((id) => fleet.get(HOST, id as HostId)?.doc.state !== 'removed');
      return living.length === 0 ? [] : [`host ${after.id} got ${key}, which ${living.join(', ')} has`];
    }),
};

export const hostsModel: Model = {
  migrations: HOST_MIGRATIONS,
  kinds: [HOST, PENDING_CLEAN_UP],
  indexes: [HOSTS_BY_SITE, HOSTS_BY_STATE, HOSTS_BY_IDENTITY, PENDING_BY_HOST, PENDING_BY_PEER],
  projections: [SERVICE_VERSIONS, MOVE_TIMES, TUNNEL_ADDRESSES],
  invariants: [legalStates, hasSite, activeHasConnected, oneTunnelAddress],
};
