// The API representations of nodes and managers. A project sees the nodes that it owns or leases, and no managers: who acts on a
// machine is not its concern.
import { Type } from 'typebox';
import { defineRepresentation, noProject, optionalFields, type Redactor } from '../access/index.ts';
import { MANAGER_CAPACITY_FIELDS } from './capacity/capacity.ts';
import { bucketOf, BUCKETS, MANAGER, MANAGER_SCHEMA, NODE, NODE_SCHEMA, type Manager, type Node } from './model.ts';
import { findWarnings } from './nodes/warnings.ts';

export const NODE_REPRESENTATION = defineRepresentation<'node', Node>({
  kind: NODE,
  siteOf: (doc) => doc.site,
  projectOf: ({ owner, lessee }) => [owner, lessee].filter((project) => project !== undefined),
  redact: redactNode,
  toJson: (doc) => {
    const bucket = bucketOf(doc);
    const warnings = findWarnings(doc);
    return { ...doc, ...(bucket !== undefined && { bucket }), ...(warnings.length > 0 && { warnings }) };
  },
  fields: {
    ...NODE_SCHEMA.properties,
    bucket: Type.Optional(Type.Enum(BUCKETS, { description: 'what it counts as; absent when it was removed' })),
    lastSeenAtMs: Type.Optional(
      Type.Integer({ description: 'by its inventory, where that is one outside; at least as late as this' }),
    ),
    warnings: Type.Optional(Type.Array(Type.String(), { description: 'what of its capabilities means nothing' })),
  },
});

/** To a project it is not said who else owns or leases the node. */
function redactNode(doc: Node, sight: Redactor): Node {
  const { instance, manager, maintenance, fault, owner, lessee, ...rest } = doc;
  const { project } = sight.caller;
  const isShown = (one: string): boolean => project === undefined || one === project;
  return {
    ...rest,
    ...(owner !== undefined && isShown(owner) && { owner }),
    ...(lessee !== undefined && isShown(lessee) && { lessee }),
    ...(instance !== undefined && { instance: sight.redactText(instance) }),
    ...(manager !== undefined && { manager: sight.redactText(manager) }),
    ...(maintenance !== undefined && {
      maintenance: { ...maintenance, reason: sight.redactTextBy(maintenance.reason, maintenance.by) },
    }),
    ...(fault !== undefined && { fault: { ...fault, message: sight.redactText(fault.message) } }),
  };
}

export const MANAGER_REPRESENTATION = defineRepresentation<'manager', Manager>({
  kind: MANAGER,
  siteOf: (doc) => doc.site,
  projectOf: noProject,
  // With what it has and could have; the documents alone, as watches and history show them, do not say that.
  fields: { ...MANAGER_SCHEMA.properties, ...optionalFields(MANAGER_CAPACITY_FIELDS) },
});
