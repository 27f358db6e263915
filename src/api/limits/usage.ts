// What one token takes of this server right now. Kept per server, with the cached caller.
export interface Usage {
  requests: number;
  streams: number;
  connections: number;
  bulkCalls: number;
}

export function newUsage(): Usage {
  return { requests: 0, streams: 0, connections: 0, bulkCalls: 0 };
}
