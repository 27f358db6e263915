// The API representations of clusters, workers and drains. What proves Muster to a cluster is never shown, sealed or not.
import { Type } from 'typebox';
import { defineRepresentation, type ProjectOf, type Redactor, type SiteOf } from '../access/index.ts';
import { idOf } from '../fleet/index.ts';
import {
  CLUSTER,
  CLUSTER_SCHEMA,
  DRAIN_REPORT,
  DRAIN_REPORT_SCHEMA,
  SSH_SCHEMA,
  WORKER,
  WORKER_SCHEMA,
  type Cluster,
  type DrainReport,
  type SshAccess,
  type Worker,
} from './model.ts';

const { credentials: _credentials, ssh: _ssh, ...CLUSTER_FIELDS } = CLUSTER_SCHEMA.properties;
const { credentials: __credentials, ...SSH_FIELDS } = SSH_SCHEMA.properties;

export const CLUSTER_REPRESENTATION = defineRepresentation<'cluster', Cluster>({
  kind: CLUSTER,
  siteOf: (doc) => doc.site,
  projectOf: (doc) => doc.project,
  toJson: ({ credentials, ssh, ...doc }) => ({
    ...doc,
    hasCredentials: credentials !== undefined,
    ...(ssh !== undefined && { ssh: hideCredentials(ssh) }),
  }),
  fields: {
    ...CLUSTER_FIELDS,
    ssh: Type.Optional(Type.Object(SSH_FIELDS)),
    hasCredentials: Type.Optional(Type.Boolean({ description: 'they are kept sealed, and never shown' })),
  },
});

function hideCredentials({ credentials: _, ...ssh }: SshAccess): Omit<SshAccess, 'credentials'> {
  return ssh;
}

type OfCluster = Pick<Worker, 'cluster'>;

export const siteOfCluster: SiteOf<OfCluster> = ({ cluster }, fleet) =>
  fleet.get(CLUSTER, idOf(CLUSTER, cluster))?.doc.site;

export const projectOfCluster: ProjectOf<OfCluster> = ({ cluster }, fleet) =>
  fleet.get(CLUSTER, idOf(CLUSTER, cluster))?.doc.project;

export const WORKER_REPRESENTATION = defineRepresentation<'worker', Worker>({
  kind: WORKER,
  siteOf: siteOfCluster,
  projectOf: projectOfCluster,
  redact: redactWorker,
  fields: WORKER_SCHEMA.properties,
});

export const DRAIN_REPORT_REPRESENTATION = defineRepresentation<'drain-report', DrainReport>({
  kind: DRAIN_REPORT,
  siteOf: siteOfCluster,
  projectOf: projectOfCluster,
  redact: (doc, sight) => ({ ...doc, operation: sight.redactText(doc.operation) }),
  fields: DRAIN_REPORT_SCHEMA.properties,
});

/** Its instance may be in another site or of another project, and operations are named after hosts. */
function redactWorker(doc: Worker, sight: Redactor): Worker {
  const { instance, cordon, work } = doc;
  return {
    ...doc,
    ...(instance !== undefined && { instance: sight.redactText(instance) }),
    ...(cordon !== undefined && { cordon: { ...cordon, operation: sight.redactText(cordon.operation) } }),
    ...(work !== undefined && { work: { ...work, operation: sight.redactText(work.operation) } }),
  };
}
