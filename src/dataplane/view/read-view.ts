// A host's view of the data plane, out of the parts that its agent was sent.
import type { BfdView, DataplaneView, LocalPortView, NetworksView, PeerView } from './dataplane-view.ts';
import { readBfd, readService, type AnyBfdParts, type AnyServiceView } from './wire-words.ts';

interface Parts extends AnyBfdParts {
  readonly self?: { readonly tombstoned?: boolean; readonly quarantined?: boolean; readonly state?: string };
  readonly peers?: readonly PeerView[];
  readonly networks?: NetworksView;
  readonly services?: readonly AnyServiceView[];
  readonly instances?: readonly { readonly ports?: readonly LocalPortView[] }[];
}

const NO_BFD: BfdView = { intervalMs: 0, peers: [] };
const NO_NETWORKS: NetworksView = { domains: [], routers: [] };

/** Undefined when the server says nothing of the data plane: then the switch is left as it is. */
export function readDataplaneView(host: string, parts: Readonly<Record<string, unknown>>): DataplaneView | undefined {
  const { self = {}, peers, networks = NO_NETWORKS, services, instances = [] } = parts as Parts;
  if (peers === undefined || services === undefined) return undefined;
  return {
    host,
    tombstoned: self.tombstoned === true,
    excluded: self.quarantined === true || self.state === 'removed',
    peers,
    networks,
    services: services.map((service) => readService(service)),
    ports: instances.flatMap(({ ports = [] }) => ports),
    bfd: readBfd(parts) ?? NO_BFD,
  };
}
