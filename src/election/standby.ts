// Chooses the standby of a service: the host that takes over when the designated one is lost. Chosen beforehand, so that every host knows where
// to send when BFD to the designated host is down; it stays while it is fit, because every peer would have to follow a change.
import type { ElectionContext } from './candidates.ts';
import type { Service, ServiceType } from './model.ts';
import type { Authorship } from './designation.ts';

/** A moment without DHCP harms no client: leases persist. */
export function hasStandby(type: ServiceType): boolean {
  return type !== 'dhcp';
}

/**
 * The service with the standby that it should have. The choice is counted in the context. During a handover, too, it is a third host, and not
 * the old one that still has the connections: that one redirects from `turn` on (docs/adr/0051).
 */
export function assignStandby(context: ElectionContext, doc: Service, { by, nowMs }: Authorship): Service {
  const standby = standbyOf(context, doc);
  if (standby === doc.standby) return doc;
  context.recordStandbyChange(doc.standby, standby);
  const { standby: _, ...rest } = doc;
  return { ...rest, ...(standby !== undefined && { standby }), changedBy: by, changedAtMs: nowMs };
}

/**
 * A standby with BFD down stays while there is no other: as a standby it has more BFD peers than otherwise, so that without the role its BFD
 * would seem up, and it would be chosen again, without end. It does no harm: a host with BFD down to both sends to the designated host, and no
 * host with BFD down is elected while another candidate is up.
 */
function standbyOf(context: ElectionContext, doc: Service): string | undefined {
  const { designated, standby, type } = doc;
  if (designated === undefined || !hasStandby(type)) return undefined;
  const isAnother = standby !== undefined && standby !== designated.host;
  if (isAnother && context.canStandBy(doc, standby)) return standby;
  return context.chooseStandby(doc) ?? (isAnother && context.isRejectedOnlyByBfd(doc, standby) ? standby : undefined);
}
