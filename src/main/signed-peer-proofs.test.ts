// What a server that forwards proves about the certificate that it was shown: it counts for this credential, this lease and this control plane alone.
import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import { publicKeyOf, signText } from '../agent/runtime.ts';
import { newCertificateAuthority, type Signer } from '../link/index.ts';
import { createPeerProofs } from './signed-peer-proofs.ts';

function newSigner(id: string): Signer {
  const key = { id, privateKey: generateKeyPairSync('ed25519').privateKey };
  return { serial: 1, keys: [publicKeyOf(key)], sign: (text) => signText([key], text) };
}

const ours = newSigner('k1');
const shown = new X509Certificate(newCertificateAuthority(Date.UTC(2030, 0, 1)).certificate);
const terms = { authorization: 'Bearer mst_tk-1_secret', leaseEpoch: 7 };
const proofsOf = (journalId: string, signer: Signer) => createPeerProofs({ journalId }, { signer: () => signer });
const proof = proofsOf('j1', ours).prove(shown, terms) ?? '';

test('a-proof-of-another-server-of-the-same-control-plane-says-which-certificate-was-shown', () => {
  expect(proofsOf('j1', ours).verify(proof, terms)?.fingerprint256).toBe(shown.fingerprint256);
});

test.each<[string, () => X509Certificate | undefined]>([
  ['for-another-credential', () => proofsOf('j1', ours).verify(proof, { ...terms, authorization: 'Bearer other' })],
  ['without-a-credential', () => proofsOf('j1', ours).verify(proof, { ...terms, authorization: undefined })],
  ['for-an-earlier-lease', () => proofsOf('j1', ours).verify(proof, { ...terms, leaseEpoch: 8 })],
  ['of-another-journal', () => proofsOf('j2', ours).verify(proof, terms)],
  ['signed-with-other-keys', () => proofsOf('j1', newSigner('k1')).verify(proof, terms)],
  ['changed-on-the-way', () => proofsOf('j1', ours).verify(tamperWith(proof), terms)],
  ['that-is-no-text', () => proofsOf('j1', ours).verify('%%%', terms)],
  ['empty', () => proofsOf('j1', ours).verify('', terms)],
  ['of-another-purpose', () => proofsOf('j1', ours).verify(encode(ours.sign('{"kind":"holder"}')), terms)],
])('never: a proof counts that is %s', (_name, verify) => {
  expect(verify()).toBeUndefined();
});

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function tamperWith(text: string): string {
  const { text: said, signatures } = JSON.parse(Buffer.from(text, 'base64url').toString()) as ReturnType<
    Signer['sign']
  >;
  return encode({ text: said.replace('"leaseEpoch":7', '"leaseEpoch": 7'), signatures });
}
