// The reach by SSH passes the contract suite of reaches against a real sshd on the loopback, and answers what is true of machines with faults.
import { randomBytes } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { SecretMask } from '../../src/access/index.ts';
import {
  describeMachineFaults,
  describeReach,
  type ReachFault,
  type ScriptFault,
} from '../../src/kubernetes/machines/contract.ts';
import { SshReach, type SshCredentials, type SshLimits, type SshMachine } from '../../src/kubernetes/runtime.ts';
import { realClock } from '../../src/main/clock.ts';
import { freePort } from '../free-port.ts';
import { waitFor } from '../ha/wait-for.ts';
import { ensureSshd } from '../kubernetes/install-sshd.ts';
import {
  composeScript,
  countRuns,
  isJoined,
  isSomethingRunning,
  listen,
  sleepOf,
  startMachine,
  type RelayedMachine,
} from './machine.ts';

const sshd = await ensureSshd();
const SSH_KEYGEN: string = 'ssh-keygen';
const HOW = { signal: new AbortController().signal };

interface ReachFacts {
  readonly script: string;
  readonly credentials?: SshCredentials;
  readonly trust?: SshMachine['address']['trust'];
  readonly port?: number;
  readonly limits?: SshLimits;
}

function reachOf(machine: RelayedMachine, facts: ReachFacts): SshReach {
  const { sshd: server, port: own, call } = machine;
  const { script, limits, port = own } = facts;
  const credentials = facts.credentials ?? { kind: 'key', key: server.privateKey };
  const trust = facts.trust ?? { kind: 'pinned', knownHosts: [server.hostKey] };
  const mask = new SecretMask();
  mask.add(call.token.split('.')[1] ?? '');
  mask.add(credentials.kind === 'key' ? credentials.key : credentials.password);
  const address = { kind: 'ssh', host: '127.0.0.1', port, user: server.user, trust } as const;
  return new SshReach({ address, credentials, script, mask }, realClock, limits);
}

const JOIN = 'echo "$MUSTER_NODE" > "$MACHINE/joined"';

/** Scripts, by what they do in place of joining. */
function faultScript(fault: ScriptFault, { folder }: RelayedMachine): string {
  const hang = `sleep ${sleepOf(folder)} & sleep ${sleepOf(folder)}\n${JOIN}`;
  const scripts: Readonly<Record<ScriptFault, string>> = {
    // Part of it ignores the signal to end.
    hangs: `(trap "" TERM; exec sleep ${sleepOf(folder)}) & ${hang}`,
    'is-silent': hang,
    floods: `sleep ${sleepOf(folder)} & yes`,
    'writes-much': [
      'seq 1 60000',
      // In two pieces, and amid much else.
      'printf "%s" "${MUSTER_TOKEN:0:12}"; sleep 0.3; echo "${MUSTER_TOKEN:12}"',
      String.raw`printf '\033[31mred\033[0m\a\0\r\n'`,
      'echo "$MUSTER_TOKEN"; echo the last line',
    ].join('\n'),
    fails: 'echo it failed >&2; exit 7',
    'ends-without-joining': 'exit 0',
    'leaves-something-running': `(sleep 3000 & echo $! > "$MACHINE/left") ; ${JOIN}`,
  };
  return composeScript(scripts[fault]);
}

const LIMITS: Partial<Record<ScriptFault, SshLimits>> = {
  floods: { outputBytes: 1024 * 1024 },
  'is-silent': { idleMs: 500 },
};

async function withFault(machine: RelayedMachine, fault: ReachFault): Promise<SshReach | string> {
  const script = composeScript(JOIN);
  switch (fault) {
    case 'wrong-host-key': {
      const other = await startMachine();
      return reachOf(machine, { script, trust: { kind: 'remembered', key: other.sshd.hostKey } });
    }
    case 'wrong-key': {
      const other = await startMachine();
      return reachOf(machine, { script, credentials: { kind: 'key', key: other.sshd.privateKey } });
    }
    case 'wrong-password':
      return reachOf(machine, { script, credentials: { kind: 'password', password: 'not-the-password-1' } });
    case 'unreadable-key': {
      const key = machine.sshd.privateKey.replace(/.{20}$/m, '%');
      return reachOf(machine, { script, credentials: { kind: 'key', key } });
    }
    case 'refused':
      return reachOf(machine, { script, port: await freePort() });
    case 'mute': {
      const { port } = await listen((socket) => socket.on('error', () => socket.destroy()));
      return reachOf(machine, { script, port, limits: { connectMs: 300 } });
    }
    case 'repeats-secret': {
      const { port } = await listen((socket) => {
        socket.on('error', () => socket.destroy());
        socket.once('data', () => socket.write(composeDisconnect(`go away, ${machine.call.token}`)));
      });
      return reachOf(machine, { script, port });
    }
  }
}

/** The first message of a peer: its identification, and that it ends the connection. */
function composeDisconnect(text: string): Buffer {
  const part = (value: string): Buffer => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(Buffer.byteLength(value));
    return Buffer.concat([length, Buffer.from(value)]);
  };
  const DISCONNECT = 1;
  const payload = Buffer.concat([Buffer.from([DISCONNECT, 0, 0, 0, 2]), part(text), part('')]);
  const padding = 8 - ((payload.length + 5) % 8) + 8;
  const head = Buffer.alloc(5);
  head.writeUInt32BE(payload.length + padding + 1);
  head.writeUInt8(padding, 4);
  return Buffer.concat([Buffer.from('SSH-2.0-peer\r\n'), head, payload, Buffer.alloc(padding)]);
}

if (sshd.kind === 'missing') {
  if (process.env['CI'] === 'true') test('sshd', () => expect.fail(`sshd is missing: ${sshd.reason}`));
  else test.skip(`the reach by SSH: needs sshd, ${sshd.reason}`);
} else {
  describeReach('SSH, to a real sshd', async () => {
    const machine = await startMachine();
    const reach = reachOf(machine, { script: composeScript(JOIN) });
    return { reach, call: machine.call, isJoined: () => Promise.resolve(isJoined(machine)) };
  });

  describeMachineFaults('SSH, to a real sshd', async () => {
    const machine = await startMachine();
    return {
      call: machine.call,
      secrets: [machine.call.token.split('.')[1] ?? '', ...keyLines(machine.sshd.privateKey), 'not-the-password-1'],
      isJoined: () => Promise.resolve(isJoined(machine)),
      ranTimes: () => countRuns(machine),
      isRunning: () => isSomethingRunning(machine),
      cut: machine.cut,
      until: async (what, holds) => {
        await waitFor(what, async () => (await holds()) || undefined);
      },
      withScript: (fault) => {
        const limits = LIMITS[fault];
        return reachOf(machine, { script: faultScript(fault, machine), ...(limits !== undefined && { limits }) });
      },
      withMachine: (fault) => withFault(machine, fault),
    };
  });

  describe('the reach by SSH', () => {
    test('a-password-lets-in, and a wrong one does not', async ({ skip }) => {
      if (process.getuid?.() !== 0) skip('only root may give an sshd passwords of its own');
      const password = `p${randomBytes(12).toString('hex')}`;
      const machine = await startMachine(password);
      const script = composeScript(JOIN);
      const right = reachOf(machine, { script, credentials: { kind: 'password', password } });
      expect(await right.join(machine.call, HOW)).toMatchObject({ kind: 'ended', exitCode: 0 });
      expect(isJoined(machine)).toBe(true);
      const wrong = reachOf(machine, { script, credentials: { kind: 'password', password: `${password}x` } });
      expect(await wrong.join(machine.call, HOW)).toMatchObject({ kind: 'login-refused' });
    });

    test('a-key-with-a-passphrase-is-opened by the right one', async () => {
      const machine = await startMachine();
      const passphrase = 'a long passphrase';
      execFileSync(SSH_KEYGEN, ['-q', '-p', '-P', '', '-N', passphrase, '-f', machine.sshd.privateKeyFile]);
      const key = execFileSync('cat', [machine.sshd.privateKeyFile], { encoding: 'utf8' });
      const script = composeScript(JOIN);
      const right = reachOf(machine, { script, credentials: { kind: 'key', key, passphrase } });
      expect(await right.join(machine.call, HOW)).toMatchObject({ kind: 'ended', exitCode: 0 });
      const wrong = reachOf(machine, { script, credentials: { kind: 'key', key, passphrase: 'another one' } });
      expect(await wrong.join(machine.call, HOW)).toMatchObject({ kind: 'login-refused' });
    });

    test('no-process-of-the-machine-shows-the-token, nor inherits it', async () => {
      const machine = await startMachine();
      // With arguments and environments of all processes.
      const script = composeScript(`ps axeww > "$MACHINE/processes"; env > "$MACHINE/environment"; ${JOIN}`);
      expect(await reachOf(machine, { script }).join(machine.call, HOW)).toMatchObject({ exitCode: 0 });
      const seen = execFileSync('cat', [`${machine.folder}/processes`, `${machine.folder}/environment`], {
        encoding: 'utf8',
      });
      expect(seen.includes('muster-worker join')).toBe(true);
      expect(seen.includes('MUSTER_NODE=edge-1')).toBe(true);
      // Whatever else is in the environments of a machine is not for a report.
      expect(seen.includes(machine.call.token.split('.')[1] ?? '')).toBe(false);
    });

    test('the-first-key-is-shown-without-a-login, and is the one that is pinned by its line', async () => {
      const machine = await startMachine();
      const stranger = { kind: 'password', password: 'never sent anywhere' } as const;
      const reach = reachOf(machine, { script: '', credentials: stranger, trust: { kind: 'any' } });
      const [type, blob] = machine.sshd.hostKey.split(' ');
      expect(await reach.contact(HOW)).toMatchObject({ kind: 'contacted', key: `${type} ${blob}` });
      const named = `[127.0.0.1]:${machine.port} ${type} ${blob}`;
      const pinned = reachOf(machine, {
        script: composeScript(JOIN),
        trust: { kind: 'pinned', knownHosts: [named] },
      });
      expect(await pinned.join(machine.call, HOW)).toMatchObject({ exitCode: 0 });
      const elsewhere = reachOf(machine, {
        script: composeScript(JOIN),
        trust: { kind: 'pinned', knownHosts: [`another.host ${type} ${blob}`] },
      });
      expect(await elsewhere.join(machine.call, HOW)).toMatchObject({ kind: 'wrong-host-key' });
    });

    test('settings-are-data: quotes and line breaks in them run nothing', async () => {
      const machine = await startMachine();
      const script = composeScript('printf "%s" "$MUSTER_PROVIDER_ID" > "$MACHINE/joined"');
      const node = `x'; touch "$MACHINE/bad"; '$(touch "$MACHINE/bad")`;
      await reachOf(machine, { script }).join({ ...machine.call, providerId: node }, HOW);
      const files = execFileSync('sh', ['-c', 'cd "$0" && ls && cat joined', machine.folder], { encoding: 'utf8' });
      expect(files).toContain(node);
      expect(files.split('\n')).not.toContain('bad');
    });
  });
}

function keyLines(key: string): string[] {
  return key.split('\n').filter((line) => line.length > 0 && !line.startsWith('-----'));
}
