// The Module value of bare metal: everything that it contributes to the program.
import { contribute, type DocumentMetric, type Module } from '../composition/index.ts';
import { SITE_USES, type SiteUse } from '../sites/index.ts';
import { baremetalModel } from './fleet-model.ts';
import { bucketOf, NODE, NODES_BY_SITE, type Node } from './model.ts';
import { MANAGER_REPRESENTATION, NODE_REPRESENTATION, RESERVATION_REPRESENTATION } from './representations.ts';
import { baremetalSentences } from './sentences.ts';

const NODES_OF_SITE: SiteUse = { what: 'nodes', count: (fleet, site) => fleet.countOf(NODES_BY_SITE, site) };

const NODES_METRIC: DocumentMetric<Node> = {
  name: 'muster_nodes',
  help: 'Bare-metal nodes by bucket; those of which only the name is kept are "removed"',
  kind: NODE,
  labels: ['bucket'],
  labelsOf: (doc) => [bucketOf(doc) ?? 'removed'],
};

export const baremetalModule: Module = {
  name: 'baremetal',
  models: () => [baremetalModel],
  contributions: [contribute(SITE_USES, NODES_OF_SITE)],
  sentences: [baremetalSentences],
  representations: () => [NODE_REPRESENTATION, RESERVATION_REPRESENTATION, MANAGER_REPRESENTATION],
  metrics: [NODES_METRIC],
};
