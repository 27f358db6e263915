// Names with a retired word that stay, because they are written in stores, files or messages. A test refuses entries that nothing needs
// any more.

export interface KeptName {
  readonly name: string;
  /** Folders or files where it stays. */
  readonly paths: readonly string[];
  readonly reason: string;
}

/** Words of documents, files and messages that other versions have written or will read. */
export const KEPT_NAMES: readonly KeptName[] = [
  { name: 'asked', paths: ['src/scheduler/report/'], reason: 'a fact of reports in stored faults of instances' },
  {
    name: 'asked',
    paths: ['src/api/audit/', 'test/attacks/name-probing.test.ts'],
    reason: 'a field of the lines in files of refusals, and of the audit trail',
  },
  { name: 'unheard', paths: ['src/election/migrations.ts'], reason: 'a reason code in stores of 0.1.0' },
  { name: 'heard', paths: ['src/election/migrations.ts'], reason: 'a fact of reasons in stores of 0.1.0' },
  {
    name: 'handOver',
    paths: [
      'src/dataplane/view/',
      'src/election/',
      'test/agent/link-contract.ts',
      'test/agent/former-version.test.ts',
      'test/api/former-store.test.ts',
    ],
    reason:
      'a field of services in stores of 0.1.0 and in the agent protocol, mapped in election/migrations.ts and dataplane/view/wire-words.ts',
  },
  {
    name: 'handOverDrainMs',
    paths: ['src/election/'],
    reason: 'a setting in stores of 0.1.0, mapped in election/migrations.ts',
  },
  {
    name: 'handOversAtOnce',
    paths: ['src/election/'],
    reason: 'a setting in stores of 0.1.0, mapped in election/migrations.ts',
  },
  {
    name: 'unheardPeers',
    paths: ['src/agent/protocol/', 'src/agent/node/heartbeat-loop.test.ts'],
    reason: 'a field of reports in the agent protocol of 0.1.0, mapped in agent/protocol/report-words.ts',
  },
];
