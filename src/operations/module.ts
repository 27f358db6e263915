import { provideController, serviceKey, type DocumentMetric, type Module } from '../composition/index.ts';
import { OperationsController } from './controller.ts';
import { ITEM, OPERATION, operationsModel, type Operation } from './model.ts';
import { operationSentences } from './reason.ts';
import { OPERATION_REASON_CODES } from './reason-codes.ts';
import { operationRoutes, operationRepresentations } from './routes.ts';

export const OPERATIONS_CONTROLLER = serviceKey<OperationsController>('operations');

const OPERATIONS_METRIC: DocumentMetric<Operation> = {
  name: 'muster_operations',
  help: 'Operations by kind and state',
  kind: OPERATION,
  labels: ['kind', 'state'],
  labelsOf: (doc) => [doc.kind, doc.state],
};

export const operationsModule: Module = {
  name: 'operations',
  models: () => [operationsModel],
  reasonCodes: OPERATION_REASON_CODES,
  sentences: [operationSentences],
  representations: ({ explain }) => {
    const { operation, item } = operationRepresentations(explain);
    return [operation, item];
  },
  metrics: [OPERATIONS_METRIC],
  services: [
    provideController(OPERATIONS_CONTROLLER, (runtime) => {
      const { environment, composition } = runtime;
      return new OperationsController({
        ...environment,
        kinds: composition.operationKinds,
        drivers: runtime.drivers(),
      });
    }),
  ],
  routes: ({ composition }) =>
    operationRoutes({
      representations: { operation: composition.representationOf(OPERATION), item: composition.representationOf(ITEM) },
      kinds: composition.operationKinds,
    }),
};
