// Every room that this program is made of, in one place: what it keeps, what it can be set to, the long work it knows, and
// how it explains itself. A new room is added here and nowhere else.
import { accessModel } from '../access/index.ts';
import { alarmsModel } from '../alarms/index.ts';
import { Registry, SETTING, type Model, type Setting } from '../fleet/index.ts';
import {
  hostJoin,
  hostsModel,
  hostsOfSite,
  joinSentences,
  LIVENESS,
  livenessSentences,
  selfPart,
  type Evacuator,
  type ViewPart,
} from '../hosts/index.ts';
import {
  instanceBuild,
  instanceClean,
  instanceDelete,
  instanceEvacuator,
  instanceMove,
  instanceRebuild,
  instanceSentences,
  instanceShelve,
  instancesModel,
  instancesPart,
} from '../instances/index.ts';
import { RETENTION } from '../journal/runtime.ts';
import { backEndSentences, networkEventsModel, networkModel, portDelete, portSentences } from '../network/index.ts';
import {
  explainer,
  operationSentences,
  operationsModel,
  type Explain,
  type OperationKind,
} from '../operations/index.ts';
import { SCHEDULER, schedulerModel } from '../scheduler/index.ts';
import { sitesModel, type SiteUse } from '../sites/index.ts';

const settingsModel: Model = { kinds: [SETTING] };

/** A kind comes before those that hang on it: retention forgets in this order. */
export const MODELS: readonly Model[] = [
  settingsModel,
  sitesModel,
  alarmsModel,
  accessModel,
  operationsModel,
  hostsModel,
  networkModel,
  networkEventsModel,
  schedulerModel,
  instancesModel,
];

export const SETTINGS: readonly Setting[] = [LIVENESS, RETENTION, SCHEDULER];

export const OPERATION_KINDS: ReadonlyMap<string, OperationKind> = new Map(
  [
    hostJoin,
    portDelete,
    instanceBuild,
    instanceDelete,
    instanceClean,
    instanceMove,
    instanceRebuild,
    instanceShelve,
  ].map((kind) => [kind.name, kind]),
);

/** What hosts' agents are shown. */
export const VIEW_PARTS: readonly ViewPart[] = [selfPart, instancesPart];

/** What knows how to bring each kind of tenant off a host. */
export const EVACUATORS: readonly Evacuator[] = [instanceEvacuator];

/** What keeps a site from being deleted. */
export const SITE_USES: readonly SiteUse[] = [hostsOfSite];

export const explain: Explain = explainer([
  operationSentences,
  joinSentences,
  livenessSentences,
  backEndSentences,
  portSentences,
  instanceSentences,
]);

export function newRegistry(): Registry {
  return new Registry(MODELS);
}
