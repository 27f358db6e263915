import { provideController, serviceKey, type DocumentMetric, type Module } from '../composition/index.ts';
import { AdminTokenController } from './admin-token-controller.ts';
import { IntegrityController, type IntegrityOptions } from './integrity-controller.ts';
import { INTEGRITY_CODES, integritySentences } from './integrity.ts';
import { adminTokenSentences, NO_ADMIN_TOKEN } from './no-admin-token.ts';
import { ALARM, alarmsModel, type Alarm } from './model.ts';
import { alarmRoutes, alarmRepresentation } from './routes.ts';

/** Takes what is found wrong with the store or the clock of this server, and raises alarms. */
export const INTEGRITY_CONTROLLER = serviceKey<IntegrityController>('integrity');

/** What a server does itself about findings; it may do without. */
export const INTEGRITY_HOOKS =
  serviceKey<Partial<Pick<IntegrityOptions, 'log' | 'onRecorded' | 'onReported'>>>('integrity-hooks');

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
  reasonCodes: [...INTEGRITY_CODES, NO_ADMIN_TOKEN],
  sentences: [integritySentences, adminTokenSentences],
  representations: ({ explain }) => [alarmRepresentation(explain)],
  metrics: [ALARMS_METRIC],
  services: [
    provideController(
      INTEGRITY_CONTROLLER,
      (runtime) => new IntegrityController({ ...runtime.environment, ...runtime.find(INTEGRITY_HOOKS) }),
    ),
  ],
  controllers: ({ environment }) => [new AdminTokenController(environment)],
  routes: ({ composition }) => alarmRoutes(composition.representationOf(ALARM)),
};
