// The HTTP surface of alarms: what needs the attention of an operator, in sentences.
import { Type } from 'typebox';
import {
  deleteRoute,
  ID,
  listRoute,
  noProject,
  showRoute,
  defineRepresentation,
  type Listing,
  type Route,
  type Representation,
} from '../access/index.ts';
import type { Reason } from '../fleet/index.ts';
import { acknowledgeAlarm } from './integrity.ts';
import { ALARM, type Alarm } from './model.ts';

export type AlarmRepresentation = Representation<'alarm', Alarm>;

/** `explain` makes a sentence of a reason; it knows the codes of all modules. */
export function alarmRepresentation(explain: (reason: Reason) => string): AlarmRepresentation {
  return defineRepresentation<'alarm', Alarm>({
    kind: ALARM,
    siteOf: (doc) => doc.site,
    projectOf: noProject,
    redact: (doc, sight) => ({ ...doc, reason: sight.redactReason(doc.reason) }),
    toJson: (doc) => ({ ...doc, sentence: explain(doc.reason) }),
    fields: {
      severity: Type.Enum(['warning', 'critical']),
      site: Type.Optional(Type.String()),
      reason: Type.Object({ code: Type.String() }),
      sentence: Type.String({ description: 'the reason, for a person' }),
      sinceMs: Type.Integer(),
    },
  });
}

export function alarmRoutes(representation: AlarmRepresentation): Route[] {
  const listing: Listing<'alarm', Alarm> = {
    representation,
    filters: {
      severity: { schema: Type.Enum(['warning', 'critical']), valuesOf: (doc) => [doc.severity] },
      site: { schema: ID, valuesOf: (doc) => [doc.site] },
    },
    sorts: { sinceMs: (doc) => doc.sinceMs, severity: (doc) => doc.severity },
  };
  const alarms = { path: '/api/v1/alarms', plural: 'alarms', singular: 'alarm', representation };
  return [
    listRoute(alarms, { listing, about: 'List what stands and should be looked at', scope: 'site' }),
    showRoute(alarms, { about: 'Show an alarm', scope: 'site' }),
    deleteRoute(alarms, {
      about: 'Acknowledge an alarm whose cause does not go away by itself',
      access: 'admin',
      decide: (fleet, { id }) => acknowledgeAlarm(fleet, id),
    }),
  ];
}
