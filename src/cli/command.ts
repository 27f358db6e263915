// How commands are declared: a thin layer over commander, so that every command gets its session, its help with examples,
// and its exit code the same way.
import { Command } from 'commander';
import { ApiRefusal } from './client/problem.ts';
import { NothingSaid, usage, type ExitCode } from './exit-code.ts';
import { Session, type GlobalOptions } from './session.ts';
import type { Terminal } from './output/terminal.ts';

/** Programs that run until they are stopped. They belong to another module and are injected. */
export interface Starters {
  serve(options: Readonly<Record<string, unknown>>): Promise<number>;
  demo(options: Readonly<Record<string, unknown>>): Promise<number>;
  agent(options: Readonly<Record<string, unknown>>): Promise<number>;
  manager(options: Readonly<Record<string, unknown>>): Promise<number>;
}

/** Tools that run on a compute node, without a server. They need drivers of another module and are injected. */
export interface NodeTools {
  /** What is on the switch against what should be there. */
  compareSwitch(options: SwitchOptions): Promise<SwitchComparison>;
  /** What would become of a packet. */
  tracePacket(options: SwitchOptions & { readonly flow: string }): Promise<readonly TracedLine[]>;
  /** The keys of a server on this machine, without their secrets. */
  showKeys(folder: string, tlsCert?: string): Promise<KeysSummary>;
  createKeys(folder: string): Promise<KeysSummary>;
  rotateKeys(folder: string, overlapMs: number): Promise<KeysSummary>;
}

export interface KeysSummary {
  readonly file: string;
  readonly serial: number;
  readonly keys: readonly {
    readonly id: string;
    readonly use: 'signing' | 'agent certificates';
    readonly since: string;
    /** Absent for the current one. */
    readonly until?: string;
  }[];
  /** By which agents can know a server that shows this certificate. */
  readonly server?: {
    readonly file: string;
    readonly publicKey: string;
    readonly certificate: string;
    readonly expires: string;
  };
}

/** Tools that work on a store directly, with or without running servers. They need stores of another module and are injected. */
export interface StoreTools {
  verify(request: StoreToolOptions & { readonly file?: string }): Promise<StoreVerification>;
  backup(request: StoreToolOptions & { readonly file: string }): Promise<StoreVerification & { readonly file: string }>;
  /** `keys` is the folder in which servers will look for their keys, else the data folder; `secretKey` the file with the sealing keys. */
  restore(request: StoreToolOptions & RestoreFiles): Promise<StoreRestoration>;
}

interface RestoreFiles {
  readonly file: string;
  readonly keys?: string;
  readonly secretKey?: string;
}

export interface StoreToolOptions {
  readonly data: string;
  /** `sqlite`, which is in the data folder, or the URL of a PostgreSQL database. */
  readonly store?: string;
  readonly progress?: (done: number, all: number) => void;
}

interface StoreSummary {
  readonly journalId: string;
  readonly revision: number;
  readonly documents: number;
  readonly commits: number;
  /** SHA-256 of a backup. */
  readonly digest?: string;
}

/** The keys of a control plane as its store names them. They are in a file of its servers, never in a store or a backup. */
export interface StoreKeys {
  readonly file: string;
  readonly contained: false;
  readonly serial: number;
  /** Ids; the current one first, then those that are still accepted. */
  readonly signing: readonly string[];
  readonly authorities: readonly string[];
}

/** Where the servers of a restored fleet look for their keys, and what is there. */
export interface StoreKeysPlace extends StoreKeys {
  readonly path: string;
  readonly state: 'in-place' | 'missing' | 'different' | 'unreadable';
}

/** The keys that sealed the secrets in documents. They are in a file of each server, never in a store or a backup. */
export interface StoreSecretKeys {
  readonly file: string;
  readonly contained: false;
  /** Ids, sorted. */
  readonly sealing: readonly string[];
}

/** Whether the servers of a restored fleet will find them. */
export interface StoreSecretKeysPlace extends StoreSecretKeys {
  /** Where they look; absent on a shared store, where --secret-key names the file. */
  readonly path?: string;
  readonly state: StoreKeysPlace['state'];
}

export interface StoreVerification extends StoreSummary {
  /** Absent when no document has a secret. */
  readonly secretKeys?: StoreSecretKeys;
  /** Absent when no server has recorded its keys yet. */
  readonly keys?: StoreKeys;
  readonly oldestRevision: number;
  /** Commits that are older than the hash chain. */
  readonly unchained: number;
  readonly intact: boolean;
  /** What is damaged, in sentences. */
  readonly damage: readonly string[];
}

interface StoreRestoration extends StoreSummary {
  readonly file: string;
  readonly keys?: StoreKeysPlace;
  readonly secretKeys?: StoreSecretKeysPlace;
}

export interface SwitchOptions {
  /** The folder of the agent. */
  readonly state: string;
  /** The database of the switch. */
  readonly ovs: string;
  readonly ovsOpenflow?: string;
  readonly ovsControl?: string;
  readonly bridge: string;
  readonly external?: string;
  readonly datapath: 'system' | 'netdev';
}

interface Owned {
  readonly tableName?: string;
  readonly owner?: { readonly kind: string; readonly id: string };
  readonly sentence?: string;
}

export interface SwitchFinding extends Owned {
  readonly kind: 'missing' | 'different' | 'unexpected' | 'conflict' | 'port-missing' | 'stray';
  readonly what: string;
  readonly text: string;
  readonly found?: string;
}

export interface SwitchComparison {
  readonly host: string;
  readonly equal: boolean;
  readonly flows: number;
  readonly findings: readonly SwitchFinding[];
  readonly gaps: readonly { readonly sentence: string }[];
}

export interface TracedLine extends Owned {
  readonly text: string;
}

export interface Cli {
  readonly terminal: Terminal;
  readonly version: string;
  readonly starters: Starters;
  readonly node: NodeTools;
  readonly stores: StoreTools;
  /** Set by the command that ran. */
  exitCode: number;
}

export interface CliInvocation<O> {
  /** The arguments after the command, in order; the values of a list argument are all included. */
  readonly args: readonly string[];
  readonly options: O & GlobalOptions;
}

type Work<O> = (session: Session, invocation: CliInvocation<O>) => Promise<ExitCode | undefined>;

/** What the command does: it calls the API and shows the answer. */
export function withAction<O = object>(cli: Cli, command: Command, work: Work<O>): Command {
  return command.action(async (...args: unknown[]) => {
    const called = args.at(-1) as Command;
    const options: O & GlobalOptions = called.optsWithGlobals();
    const isDataGiven = rootOf(called).getOptionValueSource('data') !== 'default';
    const session = new Session(cli.terminal, options, { version: cli.version, isDataGiven });
    try {
      cli.exitCode = (await work(session, { args: called.args, options })) ?? 0;
    } catch (error) {
      if (error instanceof NothingSaid) throw usage(`${error.message}, with ${flagsOf(called)}.`);
      if (error instanceof ApiRefusal) error.message = nameOptions(error.message, called);
      throw error;
    }
  });
}

/** A refusal names fields of the request, where the caller gave options and arguments of the command. */
function nameOptions(message: string, { options, registeredArguments }: Command): string {
  const given = new Map([
    ...registeredArguments.map((one) => [one.name(), `<${one.name()}>`] as const),
    ...options.map((one) => [one.attributeName(), one.long ?? one.flags] as const),
  ]);
  return message
    .replace(/^The (?:body|query) is not as this route wants it:/, 'This is not accepted:')
    .replace(/(?<=^|[\s:;])\/([a-zA-Z]+)(?= )/gm, (field, name: string) => given.get(name) ?? field);
}

function flagsOf(command: Command): string {
  return command.options.map(({ long, flags }) => long ?? flags).join(', ');
}

export function rootOf(command: Command): Command {
  return command.parent === null ? command : rootOf(command.parent);
}

/** A command of which only the parts do something. */
export function commandGroup(name: string, about: string, ...parts: readonly Command[]): Command {
  const made = new Command(name).description(about);
  for (const part of parts) made.addCommand(part);
  return made;
}

export function addExamples(command: Command, ...lines: readonly (readonly [what: string, line: string])[]): Command {
  const width = Math.max(...lines.map(([, line]) => line.length));
  const texts = lines.map(([what, line]) => `  ${line.padEnd(width)}  # ${what}`);
  return command.addHelpText('after', `\n${lines.length === 1 ? 'Example' : 'Examples'}:\n${texts.join('\n')}`);
}
