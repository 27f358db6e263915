// Payloads as clients send them and as the server answers them: the documentation shows these, and a validator of YANG data
// reads them.

export const REQUESTS = {
  'scalein-computes-start': { 'scalein-api:input': { 'scalein-node-ids': ['compute-1', 'compute-2', 'compute-3'] } },
  'scalein-computes-end': { 'scalein-api:input': { 'scalein-node-ids': ['compute-1', 'openflow:161613726'] } },
  'scalein-computes-recover': { 'scalein-api:input': { 'recover-node-ids': ['compute-2'] } },
} as const;

export type RpcName = keyof typeof REQUESTS;
