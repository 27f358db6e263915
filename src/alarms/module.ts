import type { DocumentMetric, Module } from '../composition/index.ts';
import { integritySentences } from './integrity.ts';
import { adminTokenSentences } from './no-admin-token.ts';
import { ALARM, alarmsModel, type Alarm } from './model.ts';
import { alarmRoutes, alarmRepresentation } from './routes.ts';

const ALARMS_METRIC: DocumentMetric<Alarm> = {
  name: 'muster_alarms',
  help: 'Open alarms by code and severity',
  kind: ALARM,
  labels: ['code', 'severity'],
  labelsOf: ({ reason, severity }) => [reason.code, severity],
};

export const alarmsModule: Module = {
  name: 'alarms',
  models: () => [alarmsModel],
  sentences: [integritySentences, adminTokenSentences],
  representations: ({ explain }) => [alarmRepresentation(explain)],
  metrics: [ALARMS_METRIC],
  routes: ({ composition }) => alarmRoutes(composition.representationOf(ALARM)),
};
