// The Module value of instances: everything that they contribute to the program.
import { contribute, hideKind, type DocumentMetric, type Module } from '../composition/index.ts';
import { EVACUATORS, evacuatorsOf, VIEW_PARTS } from '../hosts/index.ts';
import { BACK_END_CREDENTIALS, CLAIM, hasCredentials } from '../network/index.ts';
import { BUILDERS, buildersOf } from './builder.ts';
import { instanceBuild } from './build/operation.ts';
import { instanceClean } from './delete/clean.ts';
import { DegradedController } from './degraded/controller.ts';
import { instanceDelete } from './delete/delete.ts';
import { instanceEvacuator } from './evacuation/evacuator.ts';
import { INSTANCE_HOLDS } from './evacuation/hold.ts';
import { flavorRoutes } from './catalog/flavor-routes.ts';
import { groupRoutes } from './catalog/group-routes.ts';
import { hostBuilder } from './host-builder.ts';
import { usesOf } from './instance-use.ts';
import { instanceRoutes } from './routes.ts';
import { instancesModel } from './fleet-model.ts';
import { INSTANCE, type Instance } from './model.ts';
import { instanceMove } from './move/operation.ts';
import { instanceRebuild } from './shelve-rebuild/rebuild.ts';
import { instanceRelease } from './delete/release.ts';
import { instanceReplug } from './degraded/replug.ts';
import { projectOfClaim, siteOfClaim } from './scope.ts';
import { INSTANCE_REASON_CODES } from './reason-codes.ts';
import { instanceSentences } from './sentences.ts';
import { instanceShelve } from './shelve-rebuild/shelve-operation.ts';
import { tenantRoutes } from './evacuation/tenant-routes.ts';
import { instancesPart } from './view-part.ts';
import { FLAVOR_REPRESENTATION, GROUP_REPRESENTATION, INSTANCE_REPRESENTATION } from './representations.ts';

const INSTANCES_METRIC: DocumentMetric<Instance> = {
  name: 'muster_instances',
  help: 'Instances by state',
  kind: INSTANCE,
  labels: ['state'],
  labelsOf: (doc) => [doc.state],
};

export const instancesModule: Module = {
  name: 'instances',
  models: () => [instancesModel],
  operationKinds: () => [
    instanceBuild,
    instanceDelete,
    instanceClean,
    instanceRelease,
    instanceMove,
    instanceRebuild,
    instanceReplug,
    instanceShelve,
  ],
  contributions: [
    contribute(EVACUATORS, (composition) => instanceEvacuator(composition.all(INSTANCE_HOLDS), usesOf(composition))),
    contribute(VIEW_PARTS, instancesPart),
    contribute(BUILDERS, hostBuilder),
  ],
  reasonCodes: INSTANCE_REASON_CODES,
  sentences: [instanceSentences],
  representations: () => [FLAVOR_REPRESENTATION, GROUP_REPRESENTATION, INSTANCE_REPRESENTATION],
  hiddenKinds: [hideKind(CLAIM, { siteOf: siteOfClaim, projectOf: projectOfClaim })],
  metrics: [INSTANCES_METRIC],
  requires: [BACK_END_CREDENTIALS],
  controllers: ({ environment }) => [new DegradedController(environment)],
  routes: (runtime) => {
    const { composition } = runtime;
    const credentials = runtime.get(BACK_END_CREDENTIALS);
    const builders = buildersOf(composition);
    return [
      ...flavorRoutes(builders),
      ...groupRoutes,
      ...instanceRoutes({
        hasCredentials: () => hasCredentials(credentials),
        builders,
        uses: usesOf(composition),
      }),
      ...tenantRoutes({ evacuators: evacuatorsOf(composition), explain: composition.explain }),
    ];
  },
};
