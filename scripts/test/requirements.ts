// What the real suites need from the machine. Each suite's folder knows how to install its own; here it is only called,
// once and before anything runs in parallel. Without CI a missing part is a skip, with CI=true it is a failure.
import type { TestPart } from './options.ts';
import { stage } from './stage.ts';
import { NOTHING, ONE_FAILED, type TestTally } from './tally.ts';

type Answer = { readonly kind: 'ready' } | { readonly kind: 'missing'; readonly reason: string };

type Installer = (stop: AbortSignal) => Promise<Answer>;

interface Requirement {
  readonly name: string;
  readonly installer: URL;
  readonly ensure: string;
  /** Those of which one is run have it set up. */
  readonly parts: readonly TestPart[];
}

const REAL: readonly TestPart[] = ['real', 'packets'];

const REQUIREMENTS: readonly Requirement[] = [
  { name: 'PostgreSQL', installer: at('test/postgres/install.ts'), ensure: 'ensurePostgres', parts: REAL },
  { name: 'strace', installer: at('test/durability/install.ts'), ensure: 'ensureStrace', parts: REAL },
  { name: 'yanglint', installer: at('test/restconf/install.ts'), ensure: 'ensureYanglint', parts: REAL },
  { name: 'Open vSwitch', installer: at('test/ovs/install.ts'), ensure: 'ensureOvs', parts: REAL },
  // Builds for minutes, once on a machine.
  {
    name: 'Kubernetes',
    installer: at('test/kubernetes/install.ts'),
    ensure: 'ensureKubernetes',
    parts: ['kubernetes'],
  },
  {
    name: 'sshd',
    installer: at('test/kubernetes/install-sshd.ts'),
    ensure: 'ensureSshd',
    parts: [...REAL, 'kubernetes'],
  },
  { name: 'ShellCheck', installer: at('test/ssh/install-shellcheck.ts'), ensure: 'ensureShellcheck', parts: REAL },
];

export interface RequirementOptions {
  /** What is about to run. */
  readonly parts: readonly TestPart[];
  readonly ci: boolean;
  readonly stop: AbortSignal;
}

/** One after the other: Debian's package manager holds a lock. */
export async function ensureRequirements({ parts, ci, stop }: RequirementOptions): Promise<TestTally[]> {
  const tallies: TestTally[] = [];
  for (const requirement of REQUIREMENTS) {
    if (stop.aborted || !requirement.parts.some((part) => parts.includes(part))) continue;
    tallies.push(await stage(`set up ${requirement.name}`, () => ensureOne(requirement, ci, stop)));
  }
  return tallies;
}

async function ensureOne(requirement: Requirement, ci: boolean, stop: AbortSignal): Promise<TestTally> {
  const installer = (await import(requirement.installer.href)) as Record<string, Installer>;
  const ensure = installer[requirement.ensure];
  if (ensure === undefined) throw new Error(`${requirement.installer.pathname} does not export ${requirement.ensure}`);
  const answer = await ensure(stop);
  if (answer.kind === 'ready') return NOTHING;
  process.stdout.write(`${requirement.name} is missing: ${answer.reason}\n`);
  // The tests themselves are counted as skipped by vitest; this line says why.
  return ci ? ONE_FAILED : { ...NOTHING, skips: [{ suite: requirement.name, tests: 0, reason: answer.reason }] };
}

function at(path: string): URL {
  return new URL(`../../${path}`, import.meta.url);
}
