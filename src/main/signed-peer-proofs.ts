// Proofs of client certificates between servers, signed with the keys that all servers of a control plane share.
import { hash, X509Certificate } from 'node:crypto';
import { signStatement, verifyEd25519, verifyStatement } from '../agent/runtime.ts';
import type { PeerProofs } from '../api/runtime.ts';
import type { Journal } from '../journal/index.ts';
import { isSigned, tryParseJson } from '../link/index.ts';
import type { KeyRing } from './key-ring.ts';

export function createPeerProofs(journal: Pick<Journal, 'journalId'>, keys: Pick<KeyRing, 'signer'>): PeerProofs {
  return {
    prove: (shown, { authorization = '', leaseEpoch }) => {
      const certificate = shown.raw.toString('base64');
      const credential = hash('sha256', authorization, 'hex');
      const { journalId } = journal;
      const statement = { kind: 'peer' as const, journalId, leaseEpoch, credential, certificate };
      return Buffer.from(JSON.stringify(signStatement(keys.signer(), statement))).toString('base64url');
    },
    verify: (proof, { authorization = '', leaseEpoch }) => {
      const signed = tryParseJson(Buffer.from(proof, 'base64url').toString());
      if (!isSigned(signed)) return undefined;
      const said = verifyStatement(signed, { keys: keys.signer().keys, verify: verifyEd25519 });
      if (said?.kind !== 'peer' || said.journalId !== journal.journalId || said.leaseEpoch !== leaseEpoch)
        return undefined;
      if (said.credential !== hash('sha256', authorization, 'hex')) return undefined;
      // A server of this control plane has signed it: it was read from a connection.
      return new X509Certificate(Buffer.from(said.certificate, 'base64'));
    },
  };
}
