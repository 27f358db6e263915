// What each project has, counted as instances come and go, and what its quota leaves.
import type { Applied, FleetReader, Projected, Projection, Refusal } from '../fleet/index.ts';
import { quotaOf } from '../network/index.ts';
import type { Amounts } from '../scheduler/index.ts';
import type { Instance } from './model.ts';

export interface Usage {
  readonly instances: number;
  readonly vcpus: number;
  readonly memoryMiB: number;
}

const NOTHING: Usage = { instances: 0, vcpus: 0, memoryMiB: 0 };

class ProjectUsage implements Projected {
  readonly #byProject = new Map<string, Usage>();

  apply({ before, after }: Applied): void {
    this.#add(before?.doc as Instance | undefined, -1);
    this.#add(after?.doc as Instance | undefined, 1);
  }

  #add(instance: Instance | undefined, by: number): void {
    if (instance === undefined) return;
    const { project, amounts } = instance;
    const usage = plus(this.of(project), amounts, by);
    if (usage.instances === 0) this.#byProject.delete(project);
    else this.#byProject.set(project, usage);
  }

  of(project: string): Usage {
    return this.#byProject.get(project) ?? NOTHING;
  }
}

function plus(usage: Usage, amounts: Amounts, times: number): Usage {
  return {
    instances: usage.instances + times,
    vcpus: usage.vcpus + amounts.vcpus * times,
    memoryMiB: usage.memoryMiB + amounts.memoryMiB * times,
  };
}

export const USAGE: Projection<ProjectUsage> = {
  name: 'project-usage',
  kinds: ['instance'],
  create: () => new ProjectUsage(),
};

/** Set when so many more would be more than the project may have. */
export function quotaRefusal(fleet: FleetReader, project: string, more: Amounts, count: number): Refusal | undefined {
  const quota = quotaOf(fleet, project);
  if (quota === undefined) return undefined;
  const used = fleet.projection(USAGE).of(project);
  const wanted = plus(used, more, count);
  for (const what of ['instances', 'vcpus', 'memoryMiB'] as const) {
    const limit = quota[what];
    if (limit === undefined || wanted[what] <= limit) continue;
    const message =
      `Project "${project}" may have ${limit} ${what} and has ${used[what]}; this would make ${wanted[what]}. ` +
      `Delete some, or raise the quota with "muster quotas set ${project}".`;
    const facts = { project, what, limit, used: used[what], asked: wanted[what] - used[what] };
    return { kind: 'conflict', code: 'quota-exceeded', message, facts };
  }
  return undefined;
}
