// muster clusters set: how the machines of new workers are reached and joined, and how workers are drained.
import { Command, Option } from 'commander';
import type { Cluster } from '../client/representations.ts';
import { addExamples, withAction, type Cli } from '../command.ts';
import { usage } from '../exit-code.ts';
import { omitUndefined } from '../input/defined-fields.ts';
import { readText, wholeNumber } from '../input/input-file.ts';
import { parseDuration } from '../output/duration.ts';
import type { Terminal } from '../output/terminal.ts';
import { editOne, type ResourceSpec } from '../resource-commands.ts';

interface SetOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly reach?: 'none' | 'simulated' | 'ssh';
  readonly sshUser?: string;
  readonly sshPort?: number;
  readonly sshAddress?: string;
  readonly sshSudo?: boolean;
  readonly sshKey?: string;
  readonly sshPassphrase?: string;
  readonly sshPassword?: string;
  readonly knownHosts?: string;
  readonly trustFirstUse?: true;
  readonly workerScript?: string;
  readonly joinEndpoint?: string;
  readonly deadline?: number;
  readonly whenHostLeaves?: 'drain' | 'move';
  readonly drainsAtOnce?: number;
}

export function setCluster(cli: Cli, resource: ResourceSpec<Cluster>): Command {
  const command = new Command('set')
    .description('Change how a cluster and machines of new workers are reached, and how workers are drained')
    .argument('<name>')
    .option(
      '--kubeconfig <file>',
      'how the cluster is reached from now on, such as with new credentials; - for standard input',
    )
    .option('--context <name>', 'of the kubeconfig; its current one if not said')
    .addOption(
      new Option('--reach <how>', 'how Muster gets to them; ssh when anything about it is said').choices([
        'none',
        'simulated',
        'ssh',
      ]),
    )
    .option('--ssh-user <name>', 'as whom Muster logs in there')
    .option('--ssh-port <number>', '22 if not said', wholeNumber)
    .option('--ssh-address <host>', 'in place of the first NIC, such as {node}.lan; "" for the NIC')
    .option('--ssh-sudo', 'run the script by sudo -n, where the user is not root')
    .option('--no-ssh-sudo', 'run it as the user')
    .option('--ssh-key <file>', 'a private key; - for standard input')
    .option('--ssh-passphrase <file>', 'that of the key')
    .option('--ssh-password <file>', 'in place of a key; - for standard input')
    .option('--known-hosts <file>', 'host keys that are taken, as ssh-keyscan writes them; no others')
    .option('--trust-first-use', 'take the first host key that each machine shows, and no other from then on')
    .option('--worker-script <file>', 'what is run on machines in place of the script of Muster; "" for that one')
    .option('--join-endpoint <host:port>', 'of the control plane, for kubeadm; "" for what the cluster publishes')
    .option('--deadline <time>', 'for how long pods are evicted by a drain, such as 10m', parseDuration)
    .addOption(
      new Option('--when-host-leaves <what>', 'drain: pods leave its workers before their instances move').choices([
        'drain',
        'move',
      ]),
    )
    .option('--drains-at-once <n>', 'how many of its workers may be out of service for hosts that leave', wholeNumber);
  addExamples(
    command,
    ['credentials that are new', 'muster clusters set edge --kubeconfig edge.conf'],
    [
      'machines with a key, which are known',
      'muster clusters set edge --ssh-user root --ssh-key id_ed25519 --known-hosts known_hosts',
    ],
    [
      'machines that are new',
      'muster clusters set edge --ssh-user debian --ssh-sudo --ssh-key id_ed25519 --trust-first-use',
    ],
  );
  return withAction<SetOptions>(cli, command, async (session, { args: [name = ''], options }) => {
    return editOne(session, resource, { name, body: await composeBody(session.terminal, options) });
  });
}

async function composeBody(terminal: Terminal, options: SetOptions): Promise<object> {
  const { kubeconfig, context, reach, workerScript, joinEndpoint, deadline, whenHostLeaves, drainsAtOnce } = options;
  const ssh = await composeSsh(terminal, options);
  return omitUndefined({
    ...{ context, reach, whenHostLeaves, drainsAtOnce },
    kubeconfig: kubeconfig === undefined ? undefined : await readFile(terminal, kubeconfig, context),
    ssh: Object.keys(ssh).length === 0 ? undefined : ssh,
    workerScript: workerScript === '' ? null : workerScript && (await readText(terminal, workerScript)),
    joinEndpoint: joinEndpoint === '' ? null : joinEndpoint,
    drainPolicy: deadline === undefined ? undefined : { deadlineMs: deadline },
  });
}

/** Its parser is loaded when there is something to read. */
async function readFile(terminal: Terminal, path: string, context: string | undefined): Promise<string> {
  const { readKubeconfig } = await import('./kubeconfig-file.ts');
  return readKubeconfig(terminal, path, context);
}

async function composeSsh(terminal: Terminal, options: SetOptions): Promise<object> {
  const { sshUser: user, sshPort: port, sshAddress: address, sshSudo: sudo, trustFirstUse } = options;
  const { sshKey, sshPassphrase, sshPassword, knownHosts } = options;
  if (knownHosts !== undefined && trustFirstUse === true)
    throw usage('Give host keys with --known-hosts, or take the first with --trust-first-use: one of them.');
  const keys = knownHosts === undefined ? undefined : linesOf(await readText(terminal, knownHosts));
  const trust = keys === undefined ? trustFirstUse && 'first-use' : 'pinned';
  return omitUndefined({
    ...{ user, port, sudo, hostKeys: trust },
    address: address === '' ? null : address,
    knownHosts: keys ?? (trustFirstUse && []),
    key: sshKey === undefined ? undefined : await readText(terminal, sshKey),
    passphrase: await readSecret(terminal, sshPassphrase),
    password: await readSecret(terminal, sshPassword),
  });
}

/** Its first line: files end with one. */
async function readSecret(terminal: Terminal, path: string | undefined): Promise<string | undefined> {
  return path === undefined ? undefined : (await readText(terminal, path)).replace(/\r?\n$/, '');
}

function linesOf(text: string): string[] {
  return text.split('\n').flatMap((line) => (/^\s*(#|$)/.test(line) ? [] : [line.trim()]));
}
