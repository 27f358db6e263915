// What the keys of a control plane cost its server: a certificate for an agent, and the signature of a view. Each beside the bare
// signatures that cannot be done without, in the same rounds, by processor time.
import { createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import { pino } from 'pino';
import { newCertificateKey, createCertificateRequest } from '../../src/link/certificates/client-certificate.ts';
import { StatementIssuer } from '../../src/agent/runtime.ts';
import { CertificateIssuer } from '../../src/link/index.ts';
import type { View } from '../../src/agent/protocol/messages.ts';
import { realClock } from '../../src/main/clock.ts';
import { KeyRing } from '../../src/main/key-ring.ts';
import { below, type Benchmark, type Figure } from '../benchmark.ts';
import { runPaired } from '../rounds.ts';
import type { BenchScope } from '../scope.ts';

/** The request and its key are parsed besides, the key is written anew, the certificate put together. */
const ISSUE_RATIO_MAX = 8;
const SIGN_RATIO_MAX = 2;
const ROUNDS = 9;
const TIMES = 1000;

async function run(scope: BenchScope): Promise<Figure[]> {
  const folder = await scope.tempDir();
  const keys = new KeyRing({ folder, clock: realClock, log: pino({ level: 'silent' }), recorded: undefined });
  return [await issuing(scope, keys), await signing(scope, keys)];
}

/** The proof in the request is verified, the certificate signed. */
async function issuing(scope: BenchScope, keys: KeyRing): Promise<Figure> {
  const issuer = new CertificateIssuer(() => keys.issuingKeys(), realClock);
  const { privateKey } = newCertificateKey();
  const request = createCertificateRequest(privateKey, 'c1');
  const issue = (): void => {
    const key = issuer.verifyRequest(request);
    if ('code' in key) throw new Error(key.message);
    issuer.issue(key, { kind: 'host', name: 'c1' });
  };
  const content = Buffer.alloc(400, 'x');
  const [publicKey, proof] = [createPublicKey(privateKey), sign('sha256', content, privateKey)];
  const authority = createPrivateKey(keys.keys.authorities[0]!.privateKey);
  const bare = (): void => {
    if (!verify('sha256', content, publicKey, proof)) throw new Error('a signature is not its own');
    sign('sha256', content, authority);
  };
  const { ours, peers, ratio } = await runPaired(scope, ROUNDS, async () => [processorUs(issue), processorUs(bare)]);
  const peer = `bare verify and sign: ${peers.toFixed(0)} us`;
  return { name: 'agent-certificate', value: ours, unit: 'us', peer, ...below(ISSUE_RATIO_MAX, ratio) };
}

async function signing(scope: BenchScope, keys: KeyRing): Promise<Figure> {
  const statements = new StatementIssuer({ journalId: () => 'bench', signer: () => keys.signer(), views: 'signed' });
  const view: Pick<View, 'host' | 'stamp' | 'digest'> = {
    host: 'c1',
    stamp: { journalId: 'bench', leaseEpoch: 1, revision: 123_456 },
    digest: 'd'.repeat(64),
  };
  const { privateKey } = generateKeyPairSync('ed25519');
  const text = Buffer.from(JSON.stringify({ kind: 'view', token: 'token-1', ...view }));
  const signView = (): void => {
    if (statements.signView(view as View, 'token-1') === undefined) throw new Error('the view was not signed');
  };
  const bare = (): void => void sign(null, text, privateKey);
  const { ours, peers, ratio } = await runPaired(scope, ROUNDS, async () => [processorUs(signView), processorUs(bare)]);
  const peer = `bare Ed25519: ${peers.toFixed(0)} us`;
  return { name: 'view-signature', value: ours, unit: 'us', peer, ...below(SIGN_RATIO_MAX, ratio) };
}

function processorUs(work: () => void): number {
  const before = process.cpuUsage();
  for (let nth = 0; nth < TIMES; nth += 1) work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / TIMES;
}

export const signingBenchmark: Benchmark = {
  name: 'agent-signatures',
  about: 'processor time of a certificate for an agent and of the signature of a view, beside the bare signatures',
  seconds: 15,
  run,
};
