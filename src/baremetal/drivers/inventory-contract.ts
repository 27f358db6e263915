// The contract suite of inventories: every implementation passes all of it, whether it compares epochs or not.
import { describe, expect, test } from 'vitest';
import type { EpochCheck } from './contract.ts';
import type { InventoryCallOptions, Inventory, InventoryClaim, InventoryNode } from './inventory.ts';

const NEVER: InventoryCallOptions = { signal: new AbortController().signal };

export interface InventoryHarness {
  readonly inventory: Inventory;
  /** The ids of all nodes, sorted: at least five, all of them available. */
  readonly nodes: readonly string[];
  /** From now on nothing is answered. */
  disconnect(): Promise<void>;
  close(): Promise<void>;
}

export interface InventoryContract {
  readonly name: string;
  readonly start: () => Promise<InventoryHarness>;
  readonly epochs: EpochCheck;
  readonly timeoutMs?: number;
}

export function inventoryContract({ name, start, epochs, timeoutMs = 5000 }: InventoryContract): void {
  const check = (title: string, run: (harness: InventoryHarness) => Promise<void>): void =>
    test(
      title,
      async () => {
        const harness = await start();
        try {
          await run(harness);
        } finally {
          await harness.close();
        }
      },
      timeoutMs,
    );
  const claim = async ({ inventory, nodes }: InventoryHarness, instance: string, nodeEpoch = 5): Promise<string> => {
    const outcome = await inventory.claim({ node: nodes[0] as string, nodeEpoch, instance, traits: [] }, NEVER);
    return outcome.kind;
  };
  const unclaim = async ({ inventory, nodes }: InventoryHarness, instance: string, nodeEpoch = 5): Promise<string> =>
    (await inventory.unclaim({ node: nodes[0] as string, nodeEpoch, instance }, NEVER)).kind;
  const find = ({ inventory, nodes }: InventoryHarness): Promise<InventoryNode | 'gone'> =>
    inventory.find(nodes[0] as string, NEVER);

  describe(`inventory: ${name}`, () => {
    check('pages-show-each-node-once', async ({ inventory, nodes }) => {
      const seen: string[] = [];
      let after: string | undefined;
      do {
        const page = await inventory.list(after, 2, NEVER);
        expect(page.nodes.length).toBeLessThanOrEqual(2);
        seen.push(...page.nodes.map(({ id }) => id));
        after = page.next;
      } while (after !== undefined);
      expect(seen.toSorted()).toEqual(nodes);
    });

    check('a-node-is-found-by-its-id, and-gone-is-what-was-never-there', async (harness) => {
      expect(await find(harness)).toMatchObject({ id: harness.nodes[0], isAvailable: true, isInMaintenance: false });
      expect(await harness.inventory.find('00000000-0000-4000-8000-000000000000', NEVER)).toBe('gone');
    });

    check('a-claim-takes-the-node, and-is-repeated-without-effect', async (harness) => {
      expect(await claim(harness, 'a')).toBe('applied');
      expect(await find(harness)).toMatchObject({ isAvailable: false, instance: 'a' });
      expect(await claim(harness, 'a')).toBe('already');
    });

    check('a-claim-of-what-another-has-is-lost', async (harness) => {
      await claim(harness, 'a');
      expect(await claim(harness, 'b', 6)).toBe('lost');
      expect(await find(harness)).toMatchObject({ instance: 'a' });
    });

    check('a-claim-is-known-by-its-id, and-listed-as-ours, as-long-as-it-is-held', async (harness) => {
      const { inventory, nodes } = harness;
      const ours = { node: nodes[0] as string, instance: 'a' };
      expect(await listOurs(inventory, nodes)).toEqual([]);
      await claim(harness, 'a');
      expect(await find(harness)).toMatchObject({ claim: inventory.claimIdOf(ours) });
      expect(await listOurs(inventory, nodes)).toEqual([ours]);
      const page = await inventory.list(undefined, 1000, NEVER);
      const shown = page.nodes.find(({ id }) => id === ours.node);
      expect(shown?.claim).toBe(inventory.claimIdOf(ours));
      expect(inventory.claimIdOf(ours)).not.toBe(inventory.claimIdOf({ ...ours, instance: 'b' }));
      await unclaim(harness, 'a');
      expect(await listOurs(inventory, nodes)).toEqual([]);
      expect(await find(harness)).not.toHaveProperty('claim');
    });

    check('what-changed-is-shown-by-the-next-read, where-that-can-be-told', async (harness) => {
      const { inventory, nodes } = harness;
      const first = await inventory.listChanges({ limit: 10 }, NEVER);
      if (first === undefined) return;
      await claim(harness, 'a');
      const shown: string[] = [];
      let page = await inventory.listChanges({ since: first.upTo, limit: 1 }, NEVER);
      const upTo = page?.upTo;
      while (page !== undefined) {
        expect(page.nodes.length).toBeLessThanOrEqual(1);
        shown.push(...page.nodes.map(({ id }) => id));
        const { next } = page;
        if (next === undefined) break;
        page = await inventory.listChanges({ since: first.upTo, after: next, limit: 1 }, NEVER);
      }
      expect(shown).toContain(nodes[0]);
      await unclaim(harness, 'a');
      const again = await inventory.listChanges({ since: upTo, limit: 10 }, NEVER);
      expect(again?.nodes.find(({ id }) => id === nodes[0])).toMatchObject({ isAvailable: true });
    });

    check('of-two-claims-at-once-one-wins', async (harness) => {
      const both = await Promise.all([claim(harness, 'a'), claim(harness, 'b')]);
      expect(both.toSorted()).toEqual(['applied', 'lost']);
    });

    check('a-claim-is-given-back, also-twice, also-one-that-was-never-made', async (harness) => {
      await claim(harness, 'a');
      expect(await unclaim(harness, 'a')).toBe('applied');
      expect(await unclaim(harness, 'a')).toBe('already');
      expect(await find(harness)).toMatchObject({ isAvailable: true });
      expect(await claim(harness, 'b', 6)).toBe('applied');
    });

    check('nobody-gives-back-what-another-has', async (harness) => {
      await claim(harness, 'a');
      expect(await unclaim(harness, 'b', 6)).not.toBe('applied');
      expect(await find(harness)).toMatchObject({ instance: 'a' });
    });

    check('a-claim-under-an-older-epoch-is-stale; a-blind-inventory-takes-it', async (harness) => {
      await claim(harness, 'a', 7);
      await unclaim(harness, 'a', 7);
      expect(await claim(harness, 'b', 6)).toBe(epochs === 'every' ? 'stale' : 'applied');
    });

    check('an-inventory-that-does-not-answer-says-nothing-of-its-nodes', async (harness) => {
      await harness.disconnect();
      await expect(harness.inventory.list(undefined, 2, NEVER)).rejects.toMatchObject({
        code: 'inventory-unreachable',
      });
      await expect(find(harness)).rejects.toMatchObject({ code: 'inventory-unreachable' });
      const { inventory } = harness;
      await expect(inventory.listClaims(undefined, 2, NEVER)).rejects.toMatchObject({ code: 'inventory-unreachable' });
      expect(await claim(harness, 'a')).toBe('failed');
    });
  });
}

/** Of the nodes of the harness: an inventory may have others. */
async function listOurs(inventory: Inventory, nodes: readonly string[]): Promise<InventoryClaim[]> {
  const claims: InventoryClaim[] = [];
  let after: string | undefined;
  do {
    const page = await inventory.listClaims(after, 2, NEVER);
    claims.push(...page.claims);
    after = page.next;
  } while (after !== undefined);
  return claims.filter(({ node }) => nodes.includes(node));
}
