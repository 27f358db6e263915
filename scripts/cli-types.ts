// The types of the answers that the command line reads, from the description of the API: so that no answer is declared a second time. Written to
// src/cli/client/representations.ts by `npm run openapi`; a test compares the file with the description.

/** A JSON schema as far as `docs/openapi.json` uses it in answers. */
interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
}

interface Answer {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}

export interface ApiDescription {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly responses: Readonly<Record<string, Answer>> }>>>
  >;
}

/** Where the answer is described; of a page of a list, its items are meant. */
const ANSWERS: Readonly<Record<string, string>> = {
  AgentCertificate: 'GET /api/v1/hosts/{id}/agent-certificate',
  Alarm: 'GET /api/v1/alarms/{id}',
  BlockedTenants: 'GET /api/v1/scale-in/blocked',
  Capacity: 'GET /api/v1/capacity',
  Cluster: 'GET /api/v1/clusters/{id}',
  Commit: 'GET /api/v1/history',
  CreatedInstances: 'POST /api/v1/instances',
  Dataplane: 'GET /api/v1/hosts/{id}/dataplane',
  DrainReport: 'GET /api/v1/drain-reports/{id}',
  EnrolledNodes: 'POST /api/v1/nodes/bulk',
  Flavor: 'GET /api/v1/flavors/{id}',
  FloatingAddress: 'GET /api/v1/floating-addresses/{id}',
  Gates: 'GET /api/v1/gates',
  ServerGroup: 'GET /api/v1/groups/{id}',
  Host: 'GET /api/v1/hosts/{id}',
  HostSegment: 'GET /api/v1/hosts/{id}/segments',
  HostTenants: 'GET /api/v1/hosts/{id}/tenants',
  Instance: 'GET /api/v1/instances/{id}',
  InstanceOperation: 'POST /api/v1/instances/{id}/move',
  Item: 'GET /api/v1/operation-items',
  JoinToken: 'POST /api/v1/hosts/{id}/join-token',
  Inventory: 'GET /api/v1/inventories/{id}',
  JoiningHosts: 'POST /api/v1/hosts',
  MachineLog: 'GET /api/v1/workers/{id}/log',
  Manager: 'GET /api/v1/managers/{manager}',
  MovedService: 'POST /api/v1/services/{id}/move',
  Network: 'GET /api/v1/networks/{id}',
  NetworkStock: 'GET /api/v1/networks/{id}/stock',
  Node: 'GET /api/v1/nodes/{id}',
  Operation: 'GET /api/v1/operations/{id}',
  Placement: 'POST /api/v1/instances/preview',
  Port: 'GET /api/v1/ports/{id}',
  Quota: 'GET /api/v1/quotas/{id}',
  RebalancedServices: 'POST /api/v1/services/rebalance',
  ReleasedReservation: 'DELETE /api/v1/reservations/{id}',
  Reservation: 'GET /api/v1/reservations/{id}',
  ResealedSecrets: 'POST /api/v1/sealing-keys/reseal',
  Router: 'GET /api/v1/routers/{id}',
  ScaleInAnswer: 'POST /api/v1/scale-in/start',
  ScaleInPreview: 'POST /api/v1/scale-in/preview',
  ScaleInStatus: 'GET /api/v1/scale-in',
  SealingKey: 'GET /api/v1/sealing-keys',
  Segment: 'GET /api/v1/segments/{id}',
  Service: 'GET /api/v1/services/{id}',
  ServiceReasons: 'GET /api/v1/services/{id}/why',
  Setting: 'GET /api/v1/settings/{name}',
  Site: 'GET /api/v1/sites/{id}',
  Subnet: 'GET /api/v1/subnets/{id}',
  Token: 'POST /api/v1/tokens',
  TransportZone: 'GET /api/v1/transport-zones/{id}',
  WorkerPreview: 'POST /api/v1/clusters/{id}/workers/preview',
  Worker: 'GET /api/v1/workers/{id}',
};

/** The text of the whole file, not yet formatted. */
export function writeCliTypes(api: ApiDescription): string {
  const types = Object.entries(ANSWERS).map(([name, route]) => {
    const schema = answerOf(api, route);
    return `\n/** ${route} */\nexport interface ${name} ${typeText(schema)}\n`;
  });
  return `// Generated from docs/openapi.json by \`npm run openapi\`; do not edit.\n${types.join('')}`;
}

function answerOf({ paths }: ApiDescription, route: string): Schema {
  const [method = '', path = ''] = route.split(' ');
  const answers = Object.entries(paths[path]?.[method.toLowerCase()]?.responses ?? {});
  const schema = answers.find(([status]) => status.startsWith('2'))?.[1].content?.['application/json']?.schema;
  if (schema === undefined) throw new Error(`The description of the API has no answer of ${route}.`);
  const answer = schema.properties?.['items']?.items ?? schema;
  if (answer.properties === undefined) throw new Error(`The answer of ${route} is not an object.`);
  return answer;
}

function typeText(schema: Schema): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(typeText))].join(' | ');
  switch (schema.type) {
    case 'object':
      return objectText(schema);
    case 'array':
      return `readonly (${schema.items === undefined ? 'unknown' : typeText(schema.items)})[]`;
    case 'integer':
    case 'number':
      return 'number';
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type;
    case undefined:
      return 'unknown';
    default:
      throw new Error(`The description of the API has a type that is not known here: ${schema.type}.`);
  }
}

function objectText({ properties = {}, patternProperties, required = [] }: Schema): string {
  const [values] = Object.values(patternProperties ?? {});
  const fields = Object.entries(properties).map(
    ([name, field]) => `readonly ${name}${required.includes(name) ? '' : '?'}: ${typeText(field)};`,
  );
  if (fields.length > 0) return `{ ${fields.join(' ')} }`;
  return `Readonly<Record<string, ${values === undefined ? 'unknown' : typeText(values)}>>`;
}
