// What of a host's data plane a caller of one site may see: nothing that names or locates a host outside that site. It takes
// things away and never changes what stays; what is compiled for a switch must never go through here.
import type { DataplaneView, ServiceView } from './shown.ts';

/** `isVisible` says whether the caller may see a host by its name. */
export function limitToVisibleHosts(view: DataplaneView, isVisible: (host: string) => boolean): DataplaneView {
  const { peers, networks, services, bfd } = view;
  return {
    ...view,
    peers: yield* filterInSteps(peers, ({ host }) => isVisible(host)),
    networks: { ...networks, domains },
    services: services.flatMap((service) => limitService(service, isVisible)),
    bfd: { ...bfd, peers: bfd.peers.filter(isVisible) },
  };
}

/** A service that somebody outside provides would seem to be provided by nobody: it is left out as a whole. */
function limitService(service: ServiceView, isVisible: (host: string) => boolean): ServiceView[] {
  const { standby, handOver, ...rest } = service;
  if (service.designated !== undefined && !isVisible(service.designated.host)) return [];
  return [
    {
      ...rest,
      ...(standby !== undefined && isVisible(standby) && { standby }),
      ...(handOver !== undefined && isVisible(handOver.other) && { handOver }),
    },
  ];
}
