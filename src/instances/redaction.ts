// An instance as a caller of one site or project may see it: a project sees no hosts at all. Hosts of other sites in its tries and its move are hidden.
import type { Redactor } from '../access/index.ts';
import { scopeReportToSite } from '../scheduler/index.ts';
import type { Attempt, Instance, InstanceFault, MoveState } from './model.ts';

export function redactInstance(doc: Instance, sight: Redactor): Instance {
  const { attempts, move, fault, host, node, ended } = doc;
  return {
    ...doc,
    ...(host !== undefined && { host: sight.redactText(host) }),
    ...(node !== undefined && { node: sight.redactText(node) }),
    ...(ended !== undefined && { ended: { ...ended, host: sight.redactText(ended.host) } }),
    attempts: attempts.map((one) => redactAttempt(one, sight)),
    ...(move !== undefined && { move: redactMove(move, sight) }),
    ...(fault !== undefined && { fault: redactFault(fault, doc, sight) }),
  };
}

function redactAttempt(attempt: Attempt, sight: Redactor): Attempt {
  const { host, site, manager, node, text, ...rest } = attempt;
  return {
    ...rest,
    ...(host !== undefined && { host: sight.redactText(host) }),
    ...(site !== undefined && { site: sight.redactText(site) }),
    ...(manager !== undefined && { manager: sight.redactText(manager) }),
    ...(node !== undefined && { node: sight.redactText(node) }),
    ...(text !== undefined && { text: sight.redactText(text) }),
  };
}

function redactMove({ origin, movedOff, target, ...move }: MoveState, sight: Redactor): MoveState {
  return {
    ...move,
    operation: sight.redactText(move.operation),
    from: sight.redactText(move.from),
    ...(origin !== undefined && { origin: sight.redactText(origin) }),
    ...(movedOff !== undefined && { movedOff: movedOff.map((one) => sight.redactText(one)) }),
    ...(target !== undefined && { target: sight.redactText(target) }),
    tries: move.tries.map((one) => redactAttempt(one, sight)),
  };
}

/** The number of hosts in other sites is hidden, too. */
function redactFault(fault: InstanceFault, { place }: Instance, sight: Redactor): InstanceFault {
  const { report } = fault;
  const message = sight.redactText(fault.message);
  if (report === undefined) return { ...fault, message };
  const { hosts, stages } = place.site === sight.caller.site ? scopeReportToSite(report) : report;
  const redacted = stages.map((stage) => ({ ...stage, ...(stage.facts && { facts: sight.redactFacts(stage.facts) }) }));
  return { ...fault, message, report: { hosts, stages: redacted } };
}
