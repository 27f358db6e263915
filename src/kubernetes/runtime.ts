// What opens connections to clusters, for tests and benchmarks.
export { ApiClient } from './cluster-api/client/api-client-driver.ts';
export { planDrain } from './drain/plan.ts';
export type { NodeContents } from './cluster-api/cluster-api.ts';
export { SshReach, type SshLimits } from './machines/ssh/reach-driver.ts';
export type { SshCredentials } from './machines/ssh/credentials.ts';
export type { SshMachine } from './machines/ssh/machine.ts';
