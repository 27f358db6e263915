// The order of the modules of src/, lowest first. A module may import those before it, and their types alone count as well: so
// there are no cycles. A new module gets its place here.
export const MODULE_ORDER: readonly string[] = [
  'fleet',
  'journal',
  'access',
  'operations',
  'link',
  'composition',
  'alarms',
  'sites',
  'keys',
  'hosts',
  'network',
  'election',
  'dataplane',
  'scheduler',
  'instances',
  'baremetal',
  'api',
  'agent',
  'cli',
  'main',
];
