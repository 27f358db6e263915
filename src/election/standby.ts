// Who takes a service over when its host is lost. Chosen beforehand, so that every host knows where to send when it does not hear the
// designated one any more; it stays while it is fit, because whoever watches it would have to follow every change.
import type { ElectionContext } from './candidates.ts';
import type { Service, ServiceType } from './model.ts';
import type { Authorship } from './designation.ts';

/** A moment without DHCP harms nobody: whoever has an address keeps it. */
export function hasStandby(type: ServiceType): boolean {
  return type !== 'dhcp';
}

/**
 * The service with the standby that it should have. What is chosen is counted in the poll. During a hand-over too it is a third host, and not
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
 * One that is unheard stays while there is no other: as a standby it has more listeners than as anybody else, so that without it would seem
 * heard, and be chosen again, without end. It does no harm: who hears neither of the two sends to the designated host, and nothing is elected
 * to one that is unheard while another is heard.
 */
function standbyOf(context: ElectionContext, doc: Service): string | undefined {
  const { designated, standby, type } = doc;
  if (designated === undefined || !hasStandby(type)) return undefined;
  const isAnother = standby !== undefined && standby !== designated.host;
  if (isAnother && context.canStandBy(doc, standby)) return standby;
  return context.chooseStandby(doc) ?? (isAnother && context.isRejectedOnlyByBfd(doc, standby) ? standby : undefined);
}
