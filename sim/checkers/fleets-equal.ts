// Every server has the state of the disk: the same documents at the same revision, and indexes that agree with them.
import { isDeepStrictEqual } from 'node:util';
import type { Fleet, Id, Index } from '../../src/fleet/index.ts';
import { digestOf } from '../world/digest.ts';
import type { Incarnation } from '../world/server.ts';
import type { Checker } from './checker.ts';

/** Comparing every document is expensive; this often is enough to stop a run near the commit that went wrong. */
const COMMITS_BETWEEN_LOOKS = 40;

export const fleetsEqual: Checker = {
  name: 'never: a server shows what the journal does not have',
  watch: (violated, world) => {
    const check = ({ journal, program }: Incarnation): void => {
      const { revision } = journal.fleet;
      if (digestOf(journal.fleet) !== world.ledger.digestAt(revision)) {
        violated(`${program.name} differs from the disk at revision ${revision}`);
      }
    };
    return {
      onCommit: ({ life, commit }) => {
        // Inside a group the fleet is already at its end.
        if (commit.revision % COMMITS_BETWEEN_LOOKS === 0 && life.journal.fleet.revision === commit.revision)
          check(life);
      },
      atEnd: () => {
        const truth = world.ledger.replay(world.registry, world.ledger.head);
        for (const { incarnation, name } of world.servers) {
          if (incarnation === undefined) {
            violated(`${name} is down although everything has healed`);
            continue;
          }
          const { fleet } = incarnation.journal;
          if (fleet.revision !== world.ledger.head) violated(`${name} is at ${fleet.revision} of ${world.ledger.head}`);
          check(incarnation);
          const index = wrongIndex(fleet, truth);
          if (index !== undefined) violated(`${name}: index ${index} does not agree with its documents`);
        }
      },
    };
  },
};

function wrongIndex(fleet: Fleet, truth: Fleet): string | undefined {
  return fleet.registry.indexes.find((index) =>
    keysIn(truth, index).some((key) => !isDeepStrictEqual(idsOf(fleet, index, key), idsOf(truth, index, key))),
  )?.name;
}

function keysIn(fleet: Fleet, index: Index): string[] {
  return [...new Set([...fleet.all(index.kind)].flatMap(({ id, doc }) => index.keysOf(doc, id)))];
}

function idsOf(fleet: Fleet, index: Index, key: string): Id<string>[] {
  return [...fleet.find(index, key)].map(({ id }) => id);
}
