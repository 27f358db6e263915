// What a caller of one site may see of a host's data plane: nothing that names or locates a host outside that site. It removes entries and
// never changes the rest; what is compiled for a switch must never pass through here.
import { filterInSteps, type Steps } from '../../fleet/index.ts';
import type { DataplaneView, DomainView, ServiceView } from './dataplane-view.ts';

/** `isVisible` says whether the caller may see a host by its name. */
export function* limitToVisibleHosts(view: DataplaneView, isVisible: (host: string) => boolean): Steps<DataplaneView> {
  const { peers, networks, services, bfd } = view;
  const domains: DomainView[] = [];
  for (const domain of networks.domains) {
    const ports = yield* filterInSteps(domain.ports, ({ host }) => isVisible(host));
    domains.push({ ...domain, ports });
  }
  return {
    ...view,
    peers: yield* filterInSteps(peers, ({ host }) => isVisible(host)),
    networks: { ...networks, domains },
    services: services.flatMap((service) => limitService(service, isVisible)),
    bfd: { ...bfd, peers: bfd.peers.filter(isVisible) },
  };
}

/** A service whose designated host is outside would look as if it had none: it is left out as a whole. */
function limitService(service: ServiceView, isVisible: (host: string) => boolean): ServiceView[] {
  const { standby, handover, ...rest } = service;
  if (service.designated !== undefined && !isVisible(service.designated.host)) return [];
  return [
    {
      ...rest,
      ...(standby !== undefined && isVisible(standby) && { standby }),
      ...(handover !== undefined && isVisible(handover.other) && { handover }),
    },
  ];
}
