// The API representation of a host: its document and what follows from it. It must never contain the credential or the keys by which only
// tunnels are traced.
import { Type } from 'typebox';
import { defineRepresentation, noProject, type Redactor } from '../access/index.ts';
import { conditionText } from './record-conditions.ts';
import { CONDITION_TYPES } from './conditions.ts';
import { CONNECTION_STATES, HOST, HOST_FACTS, HOST_STATES, isTombstoned, type Host } from './model.ts';
import { redactStrays } from './strays.ts';

const Said = Type.Object({ reason: Type.String(), by: Type.String(), atMs: Type.Integer() });

/** Text from other modules may name anything and is filtered by site; text from the host's own site is shown as it is. */
function limitHost(doc: Host, sight: Redactor): Host {
  const { leaving, quarantined, disabled, forcedDown, degraded, strays } = doc;
  if ([leaving, quarantined, disabled, forcedDown, degraded, strays].every((one) => one === undefined)) return doc;
  const redactNote = <T extends { reason: string; by: string }>(one: T): T => ({
    ...one,
    reason: sight.redactTextBy(one.reason, one.by),
  });
  return {
    ...doc,
    ...redactStrays(strays, sight),
    ...(degraded !== undefined && { degraded: degraded.map((one) => sight.redactFacts(one)) }),
    ...(disabled !== undefined && { disabled: redactNote(disabled) }),
    ...(forcedDown !== undefined && { forcedDown: redactNote(forcedDown) }),
    ...(quarantined?.as !== undefined && { quarantined: { ...quarantined, as: sight.redactText(quarantined.as) } }),
    ...(leaving !== undefined && {
      leaving: {
        ...leaving,
        ...(leaving.why !== undefined && { why: sight.redactTextBy(leaving.why, leaving.by) }),
        ...(leaving.forced !== undefined && { forced: redactNote(leaving.forced) }),
      },
    }),
  };
}

export const HOST_REPRESENTATION = defineRepresentation<'host', Host>({
  kind: HOST,
  siteOf: (doc) => doc.site,
  projectOf: noProject,
  redact: limitHost,
  toJson: ({ credential: _, leftZones: __, degraded, ...doc }) => ({
    ...doc,
    ...(degraded !== undefined && {
      degraded: degraded.map((condition) => ({ ...condition, sentence: conditionText(condition) })),
    }),
    enabled: doc.disabled === undefined,
    tombstoned: isTombstoned(doc),
  }),
  fields: {
    name: Type.String(),
    site: Type.String(),
    ...HOST_FACTS,
    tunnelAddress: Type.Optional(HOST_FACTS.tunnelAddress),
    resources: Type.Optional(HOST_FACTS.resources),
    bindsAt: Type.Optional(HOST_FACTS.bindsAt),
    transportZone: Type.Optional(HOST_FACTS.transportZone),
    switch: Type.Optional(
      Type.Object({
        datapathId: Type.Optional(Type.String()),
        systemId: Type.Optional(Type.String()),
        bridge: Type.Optional(Type.String()),
      }),
    ),
    leaving: Type.Optional(
      Type.Object({
        operation: Type.String(),
        drain: Type.Boolean(),
        by: Type.String(),
        why: Type.Optional(Type.String()),
        atMs: Type.Integer(),
        rebuilt: Type.Optional(Type.Boolean()),
        failBack: Type.Optional(Type.Boolean()),
        forced: Type.Optional(Said),
      }),
    ),
    quarantined: Type.Optional(
      Type.Object({
        because: Type.Enum(['removed', 'operator-fenced', 'identity']),
        as: Type.Optional(Type.String()),
        atMs: Type.Integer(),
      }),
    ),
    degraded: Type.Optional(
      Type.Array(
        Type.Object({
          type: Type.Enum(CONDITION_TYPES),
          code: Type.String(),
          message: Type.String(),
          cannotServe: Type.Optional(Type.Boolean({ description: 'its data path is known to be gone' })),
          sinceMs: Type.Integer(),
          sentence: Type.String(),
        }),
        { description: 'the failures that its agent reports; absent when there are none' },
      ),
    ),
    strays: Type.Optional(
      Type.Object(
        { names: Type.Array(Type.String()), count: Type.Integer(), sinceMs: Type.Integer() },
        {
          description: 'strays: what its agent reports that the fleet does not know; the first by name, and the count',
        },
      ),
    ),
    readmitted: Type.Optional(Type.Boolean({ description: 'it was removed before and joins again' })),
    enabled: Type.Boolean({ description: 'false while in maintenance: it gets nothing new' }),
    disabled: Type.Optional(Said),
    forcedDown: Type.Optional(Said),
    state: Type.Enum(HOST_STATES),
    tombstoned: Type.Boolean({ description: 'leaving: chosen for nothing' }),
    connection: Type.Object({ state: Type.Enum(CONNECTION_STATES), sinceMs: Type.Integer() }),
    serviceVersion: Type.Integer(),
    joinedAtMs: Type.Optional(Type.Integer()),
    changedBy: Type.String(),
    changedAtMs: Type.Integer(),
  },
});
