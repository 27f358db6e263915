// Packets that the kernel dropped because a program of the lab did not read its socket in time: a switch in user space, or the traffic itself,
// that waited for the processor. No switch ever had them: they say something about the machine, and nothing about what was done to the hosts.
import { readdir } from 'node:fs/promises';
import { run } from './command.ts';
import { runConcurrently } from './run-concurrently.ts';
import type { TrafficResults } from './traffic/results.ts';
import { inNamespace } from './underlay/links-plan.ts';
import type { LabNames } from './underlay/names.ts';

const NAMESPACES = '/run/netns';
const AT_ONCE = 4;
/** Sockets of packets and of UDP with their memory, the last figure of which counts what was dropped. */
const LIST_SOCKETS = ['ss', '-0', '-u', '-a', '-n', '-m', '-e', '-H'];
const SOCKET = /\bino:(\d+)\b[^]*?\bskmem:\([^)]*,d(\d+)\)/g;

/** What each socket has dropped since it was opened, by its inode. */
export type SocketDrops = ReadonlyMap<string, number>;

export function readSocketDrops(listed: string): SocketDrops {
  return new Map([...listed.matchAll(SOCKET)].map(([, inode = '', drops]) => [inode, Number(drops)]));
}

/** A socket that was closed meanwhile is left out, one that was opened counts from nothing. */
export function countOverruns(before: SocketDrops, after: SocketDrops): number {
  return [...after].reduce((total, [inode, drops]) => total + drops - (before.get(inode) ?? 0), 0);
}

type RunTraffic = (event?: () => Promise<void>) => Promise<TrafficResults>;

/** The same load, whose results say what was dropped in front of a program of the lab while it lasted. */
export function withOverruns(lab: LabNames, load: RunTraffic): RunTraffic {
  return async (event) => {
    const before = await dropsOf(lab);
    const results = await load(event);
    return { ...results, overruns: countOverruns(before, await dropsOf(lab)) };
  };
}

async function dropsOf({ prefix }: LabNames): Promise<SocketDrops> {
  const namespaces = (await readdir(NAMESPACES)).filter((name) => name.startsWith(prefix));
  const listed = await runConcurrently(namespaces, AT_ONCE, (namespace) =>
    run(inNamespace(namespace, ...LIST_SOCKETS)),
  );
  return readSocketDrops(listed.join('\n'));
}
