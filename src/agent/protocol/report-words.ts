// What a report calls the peers with BFD down between agents and servers that may be a version apart: version 0.1.0 knows only
// `unheardPeers`. Nothing else of the program knows that name.
import { BFD_DOWN_PEERS_FEATURE, type HostReport, type WireReport } from './messages.ts';

/** For a server with these features. */
export function reportToWire(report: HostReport, features: readonly string[]): WireReport {
  if (report.bfdDownPeers === undefined || features.includes(BFD_DOWN_PEERS_FEATURE)) return report;
  const { bfdDownPeers, ...rest } = report;
  return { ...rest, unheardPeers: bfdDownPeers };
}

/** The same object when there is nothing to translate. */
export function reportFromWire(report: WireReport): HostReport {
  if (report.unheardPeers === undefined) return report;
  const { unheardPeers, ...rest } = report;
  return { bfdDownPeers: unheardPeers, ...rest };
}
