// Names with a retired word that are still there. The list only gets shorter: a name that is renamed goes from here, and a test
// refuses entries that nothing needs any more.

export interface KeptName {
  readonly name: string;
  /** Folders or files where it stays. */
  readonly paths: readonly string[];
  readonly reason: string;
}

/** Words of documents, requests and messages that other versions have written or will read. */
const SPOKEN: readonly KeptName[] = [
  {
    name: 'handOver',
    paths: ['src/dataplane/', 'src/election/'],
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

/** Names inside the program that are to be renamed still. */
const REMAINING: readonly (readonly [name: string, ...paths: string[]])[] = [
  ['AGAIN_AFTER_MS', 'test/'],
  ['asked', 'src/api/', 'src/cli/', 'src/dataplane/', 'src/election/', 'src/hosts/', 'src/scheduler/', 'test/'],
  ['ASKED', 'src/election/', 'src/hosts/', 'test/'],
  ['Asked', 'bench/', 'src/network/', 'test/'],
  ['ASKED_FIELDS', 'src/dataplane/'],
  ['askedBetween', 'src/dataplane/'],
  ['askedMeanwhile', 'src/journal/'],
  ['askedMs', 'bench/'],
  ['bringIn', 'sim/'],
  ['deaf', 'sim/', 'src/agent/', 'src/dataplane/', 'src/network/', 'test/'],
  ['decree', 'src/cli/', 'src/hosts/'],
  ['DECREE', 'src/election/', 'src/hosts/'],
  ['desk', 'src/agent/', 'test/'],
  ['duties', 'src/agent/', 'src/dataplane/'],
  ['errand', 'sim/', 'src/agent/', 'test/'],
  ['errands', 'src/agent/'],
  ['GIVE_UP_MS', 'bench/'],
  ['GIVEN_UP_MESSAGE', 'src/instances/'],
  ['givenUp', 'src/election/'],
  ['giveUp', 'sim/', 'src/dataplane/', 'src/journal/', 'src/network/', 'test/'],
  ['giveUpAt', 'test/'],
  ['giveUpMs', 'bench/', 'lab/'],
  ['HAND_OVER_DEADLINES_MS', 'sim/'],
  ['handedOver', 'src/election/'],
  ['handedOverMs', 'lab/'],
  ['heard', 'lab/', 'sim/', 'src/dataplane/', 'src/journal/', 'test/'],
  ['HEARD', 'src/dataplane/'],
  ['Heard', 'src/dataplane/'],
  ['heardAt', 'src/hosts/'],
  ['heardMs', 'test/'],
  ['Hearing', 'src/hosts/'],
  ['hearing', 'lab/', 'src/dataplane/', 'src/hosts/'],
  ['HOSTS_JUDGED_HERE_MAX', 'src/hosts/'],
  ['inLine', 'bench/', 'sim/', 'src/agent/'],
  ['isDeaf', 'sim/'],
  ['isHeard', 'sim/'],
  ['isUnheard', 'src/election/'],
  ['isVouched', 'sim/'],
  ['isVouchedFor', 'src/agent/'],
  ['judged', 'src/agent/', 'src/hosts/', 'src/main/'],
  ['judgedMs', 'sim/'],
  ['knocked', 'src/agent/'],
  ['letGo', 'src/network/'],
  ['lined', 'src/agent/'],
  ['LOST_TOLD_MAX', 'lab/'],
  ['pace', 'src/agent/'],
  ['peerIsHeard', 'src/hosts/'],
  ['putHeard', 'src/dataplane/'],
  ['revertLeaveUnlessAsked', 'src/agent/'],
  ['seeder', 'src/agent/'],
  ['SENSES', 'src/election/'],
  ['senses', 'src/election/'],
  ['SharedCredentialsAsked', 'src/hosts/'],
  ['STRAYS_TOLD_MAX', 'src/agent/'],
  ['told', 'src/agent/', 'src/dataplane/', 'src/election/', 'src/hosts/', 'src/instances/', 'src/operations/'],
  ['Told', 'test/'],
  ['TOLD_AGAIN_MS', 'src/operations/'],
  ['TOLD_TO_LEAVE', 'src/agent/'],
  ['TRY_AGAIN_AFTER_MS', 'test/'],
  ['understood', 'src/main/'],
  ['unheard', 'src/agent/', 'src/dataplane/', 'src/election/'],
  ['unheardAsStandby', 'src/election/'],
  ['unheardBy', 'test/'],
  ['vouch', 'src/hosts/'],
  ['vouched', 'test/'],
  ['vouchedOff', 'src/hosts/'],
  ['vouching', 'bench/'],
  ['withFailedHandOver', 'src/instances/'],
];

export const KEPT_NAMES: readonly KeptName[] = [
  ...SPOKEN,
  ...REMAINING.map(([name, ...paths]) => ({ name, paths, reason: 'not renamed yet' })),
];
