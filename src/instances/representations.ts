// The API representations of flavors, server groups and instances. An instance that found no host is shown with the reasons in words, so that the API,
// the command line and the history say the same.
import { Type, type Static } from 'typebox';
import { defineRepresentation, everyProject, wholeFleet, type Redactor, type Representation } from '../access/index.ts';
import { idOf, type FleetReader, type Reason, type Stored } from '../fleet/index.ts';
import { backEndSentences, PORT, PORT_REPRESENTATION } from '../network/index.ts';
import { explainer } from '../operations/index.ts';
import { stageSentence, type ReportStage } from '../scheduler/index.ts';
import type { NodeStatus } from './builder.ts';
import {
  degradedPorts,
  degradedReason,
  findHostOff,
  HOST_OFF,
  PORT_TROUBLES,
  openReplugItem,
} from './degraded/degraded.ts';
import { endedReason, findEnded } from './degraded/ended.ts';
import { redactInstance } from './redaction.ts';
import { siteOfInstance } from './scope.ts';
import {
  FLAVOR,
  FLAVOR_SCHEMA,
  GROUP,
  GROUP_SCHEMA,
  INSTANCE,
  INSTANCE_SCHEMA,
  type Flavor,
  type ServerGroup,
  type Instance,
} from './model.ts';
import { instanceSentences } from './sentences.ts';

/** Flavors and groups belong to the whole fleet. */
export const FLAVOR_REPRESENTATION = defineRepresentation<'flavor', Flavor>({
  kind: FLAVOR,
  siteOf: wholeFleet,
  projectOf: everyProject,
  fields: FLAVOR_SCHEMA.properties,
});
export const GROUP_REPRESENTATION = defineRepresentation<'group', ServerGroup>({
  kind: GROUP,
  siteOf: wholeFleet,
  projectOf: (doc) => doc.project,
  fields: GROUP_SCHEMA.properties,
});

const { fault: _fault, ...PLAIN_FIELDS } = INSTANCE_SCHEMA.properties;

const StageSchema = Type.Object({
  filter: Type.String(),
  before: Type.Integer({ description: 'hosts that came to this filter' }),
  after: Type.Integer({ description: 'hosts that went on' }),
  cause: Type.Optional(Type.String({ description: 'what stopped the others' })),
  facts: Type.Optional(Type.Record(Type.String(), Type.Union([Type.String(), Type.Number()]))),
  sentence: Type.Optional(Type.String({ description: 'the cause, for a person' })),
});

export const ReportSchema = Type.Object({
  hosts: Type.Integer({ description: 'hosts in the fleet' }),
  stages: Type.Array(StageSchema),
});

export const NodeStagesSchema = Type.Array(
  Type.Object({
    stage: Type.String(),
    left: Type.Integer({ description: 'bare-metal nodes that are left after it' }),
  }),
);

export const INSTANCE_REPRESENTATION: Representation<'instance', Instance> = defineRepresentation<'instance', Instance>(
  {
    kind: INSTANCE,
    siteOf: siteOfInstance,
    projectOf: (doc) => doc.project,
    redact: redactInstance,
    toJson: (doc) => {
      const report = doc.fault?.report;
      if (report === undefined) return doc;
      return { ...doc, fault: { ...doc.fault, report: explainReport(report) } };
    },
    fields: {
      ...PLAIN_FIELDS,
      fault: Type.Optional(
        Type.Object({
          code: Type.String(),
          message: Type.String(),
          atMs: Type.Integer(),
          report: Type.Optional(ReportSchema),
          nodes: Type.Optional(NodeStagesSchema),
        }),
      ),
    },
  },
);

export const PORTS_SCHEMA = Type.Array(PORT_REPRESENTATION.schema);

const DegradedSchema = Type.Object(
  {
    code: Type.String(),
    message: Type.String({ description: 'the reason, for a person' }),
    sinceMs: Type.Integer(),
    operation: Type.Optional(Type.String({ description: 'the operation that connects its ports again' })),
    lastTry: Type.Optional(Type.String({ description: 'why that was not possible yet' })),
    ports: Type.Array(
      Type.Object({
        port: Type.String(),
        nic: Type.Integer(),
        network: Type.String(),
        trouble: Type.Enum(PORT_TROUBLES, {
          description:
            '`unbound`: bound to no host, or to another; `not-plugged`: no report that its host connected it; `unplugged`, `plug-failed`: a report that it is not',
        }),
      }),
    ),
  },
  {
    description:
      'set while it is active and does not run, because its host was forced down (`instance-host-off`) or although its host should have it running (`instance-ended`), or not all of its ports are connected there (`instance-degraded`); derived when it is read: it changes without a revision, and watches do not contain it',
  },
);

/** The fields of an instance that are read beside its document. */
export const INSTANCE_READ_SCHEMA = Type.Object({
  ...INSTANCE_REPRESENTATION.schema.properties,
  degraded: Type.Optional(DegradedSchema),
});

/** The instance, and whether it is degraded. Nearly all are not: they cost a check of their ports. */
export function instanceToJsonText(stored: Stored<'instance', Instance>, fleet: FleetReader, sight?: Redactor): string {
  const text = INSTANCE_REPRESENTATION.toJsonText(stored, sight);
  const degraded = degradedToJson(fleet, stored, sight);
  return degraded === undefined ? text : `${text.slice(0, -1)},"degraded":${JSON.stringify(degraded)}}`;
}

const explain = explainer([backEndSentences, instanceSentences]);

function degradedToJson(
  fleet: FleetReader,
  stored: Stored<'instance', Instance>,
  sight: Redactor | undefined,
): Static<typeof DegradedSchema> | undefined {
  const redact = (reason: Reason): Reason => sight?.redactReason(reason) ?? reason;
  const troubled = degradedPorts(fleet, stored);
  const [off, ended] = [findHostOff(fleet, stored), findEnded(stored)];
  if (troubled.length === 0 && off === undefined && ended === undefined) return undefined;
  const reason = degradedCause(stored, { off, ended, troubled });
  const replug = openReplugItem(fleet, stored.id)?.doc;
  const last = replug?.reason;
  return {
    code: reason.code,
    message: explain(redact(reason)),
    sinceMs: off?.atMs ?? ended?.atMs ?? Math.min(...troubled.map(({ sinceMs }) => sinceMs)),
    ...(replug !== undefined && { operation: sight?.redactText(replug.operation) ?? replug.operation }),
    ...(last !== undefined && { lastTry: explain(redact(last)) }),
    ports: troubled.map(({ port: { id, doc }, trouble }) => ({
      port: id,
      nic: doc.nic ?? 0,
      network: doc.network,
      trouble,
    })),
  };
}

interface Degradation {
  readonly off: ReturnType<typeof findHostOff>;
  readonly ended: ReturnType<typeof findEnded>;
  readonly troubled: ReturnType<typeof degradedPorts>;
}

/** Of several, the one that has to be resolved first. */
function degradedCause(stored: Stored<'instance', Instance>, { off, ended, troubled }: Degradation): Reason {
  if (off !== undefined) return { code: HOST_OFF, instance: stored.id, host: stored.doc.host };
  return ended === undefined ? degradedReason(stored, troubled) : endedReason(stored, ended);
}

export const NODE_STATUS_SCHEMA = Type.Object(
  {
    state: Type.String(),
    power: Type.String(),
    epoch: Type.Integer({ description: 'grows whenever the right to act on the node moves' }),
    manager: Type.Optional(Type.String({ description: 'who acts on the node' })),
  },
  { description: 'of its bare-metal node; derived when it is read' },
);

/** The instance with its ports, in the order of its NICs, and with what is known of its node. */
export function instanceWithPortsToJsonText(
  stored: Stored<'instance', Instance>,
  fleet: FleetReader,
  status: NodeStatus | undefined,
  sight?: Redactor,
): string {
  const ports = stored.doc.nics.flatMap(({ port }) => fleet.get(PORT, idOf(PORT, port)) ?? []);
  const shown = ports.map((port) => PORT_REPRESENTATION.toJsonText(port, sight)).join(',');
  const node = status === undefined ? '' : `,"nodeStatus":${JSON.stringify(sight?.redactFacts(status) ?? status)}`;
  return `${instanceToJsonText(stored, fleet, sight).slice(0, -1)}${node},"ports":[${shown}]}`;
}

/** The report with a sentence for each stage that lost hosts. */
export function explainReport<S extends ReportStage>({
  hosts,
  stages,
}: {
  readonly hosts: number;
  readonly stages: readonly S[];
}): {
  hosts: number;
  stages: (S & { readonly sentence?: string })[];
} {
  const rendered = stages.map((stage) => {
    const sentence = stageSentence(stage);
    return sentence === undefined ? stage : { ...stage, sentence };
  });
  return { hosts, stages: rendered };
}
