// An instance as a caller of one site or project may see it: a project does not see hosts at all. It may have been tried, or be on its way, where that caller may not look.
import type { Sight } from '../access/index.ts';
import { reportWithinSite } from '../scheduler/index.ts';
import type { Attempt, Instance, InstanceFault, Move } from './model.ts';

export function limitInstance(doc: Instance, sight: Sight): Instance {
  const { attempts, move, fault, host } = doc;
  return {
    ...doc,
    ...(host !== undefined && { host: sight.text(host) }),
    attempts: attempts.map((one) => limitAttempt(one, sight)),
    ...(move !== undefined && { move: limitMove(move, sight) }),
    ...(fault !== undefined && { fault: limitFault(fault, doc, sight) }),
  };
}

function limitAttempt(attempt: Attempt, sight: Sight): Attempt {
  const { host, site, text, ...rest } = attempt;
  return {
    ...rest,
    ...(host !== undefined && { host: sight.text(host) }),
    ...(site !== undefined && { site: sight.text(site) }),
    ...(text !== undefined && { text: sight.text(text) }),
  };
}

function limitMove({ origin, movedOff, target, ...move }: Move, sight: Sight): Move {
  return {
    ...move,
    operation: sight.text(move.operation),
    from: sight.text(move.from),
    ...(origin !== undefined && { origin: sight.text(origin) }),
    ...(movedOff !== undefined && { movedOff: movedOff.map((one) => sight.text(one)) }),
    ...(target !== undefined && { target: sight.text(target) }),
    tries: move.tries.map((one) => limitAttempt(one, sight)),
  };
}

/** How many hosts other sites have is theirs to know, too. */
function limitFault(fault: InstanceFault, { place }: Instance, sight: Sight): InstanceFault {
  const { report } = fault;
  const message = sight.text(fault.message);
  if (report === undefined) return { ...fault, message };
  const { hosts, stages } = place.site === sight.caller.site ? reportWithinSite(report) : report;
  const told = stages.map((stage) => ({ ...stage, ...(stage.facts && { facts: sight.facts(stage.facts) }) }));
  return { ...fault, message, report: { hosts, stages: told } };
}
