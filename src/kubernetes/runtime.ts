// What opens connections to clusters, for tests and benchmarks.
export { ApiClient } from './cluster-api/client/api-client-driver.ts';
