// The HTTP surface of alarms: what a person should look at now, in sentences.
import { Type } from 'typebox';
import { deleteRoute, ID, listRoute, showRoute, viewOf, type Listing, type Route, type View } from '../access/index.ts';
import type { Reason } from '../fleet/index.ts';
import { acknowledgeAlarm } from './integrity.ts';
import { ALARM, type Alarm } from './model.ts';

export type AlarmView = View<'alarm', Alarm>;

/** `explain` makes a sentence of a reason; it knows every room's codes. */
export function alarmView(explain: (reason: Reason) => string): AlarmView {
  return viewOf<'alarm', Alarm>({
    kind: ALARM,
    siteOf: (doc) => doc.site,
    limit: (doc, sight) => ({ ...doc, reason: sight.reason(doc.reason) }),
    show: (doc) => ({ ...doc, sentence: explain(doc.reason) }),
    fields: {
      severity: Type.Enum(['warning', 'critical']),
      site: Type.Optional(Type.String()),
      reason: Type.Object({ code: Type.String() }),
      sentence: Type.String({ description: 'the reason, for a person' }),
      sinceMs: Type.Integer(),
    },
  });
}

export function alarmRoutes(view: AlarmView): Route[] {
  const listing: Listing<'alarm', Alarm> = {
    view,
    filters: {
      severity: { schema: Type.Enum(['warning', 'critical']), of: (doc) => [doc.severity] },
      site: { schema: ID, of: (doc) => [doc.site] },
    },
    sorts: { sinceMs: (doc) => doc.sinceMs, severity: (doc) => doc.severity },
  };
  const alarms = { path: '/api/v1/alarms', what: 'alarms', one: 'alarm', view };
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
