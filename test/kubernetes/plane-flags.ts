// How each server of the control plane is started.
import type { AuthorityFiles, CertificateFiles } from './pki.ts';

type Flags = Readonly<Record<string, string>>;

export interface PlanePki {
  readonly authority: AuthorityFiles;
  readonly server: CertificateFiles;
  /** Of service accounts' tokens. */
  readonly signingKey: string;
}

/** So long a node may be silent before it is NotReady. Fake nodes renew their leases far more often, also on a busy machine. */
const NODE_GRACE_S = 20;

interface EtcdAddresses {
  readonly folder: string;
  readonly client: string;
  readonly peer: string;
}

export function etcdFlags({ folder, client, peer }: EtcdAddresses): Flags {
  return {
    'data-dir': folder,
    'listen-client-urls': client,
    'advertise-client-urls': client,
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
    'initial-cluster': `default=${peer}`,
    // Nothing of it is needed after a crash of the machine, and writes are many.
    'unsafe-no-fsync': 'true',
  };
}

interface ApiServerPlace {
  readonly pki: PlanePki;
  readonly etcd: string;
  readonly port: number;
}

export function apiServerFlags({ pki, etcd, port }: ApiServerPlace): Flags {
  return {
    'etcd-servers': etcd,
    'bind-address': '127.0.0.1',
    'advertise-address': '127.0.0.1',
    'secure-port': String(port),
    'insecure-port': '0',
    'tls-cert-file': pki.server.certFile,
    'tls-private-key-file': pki.server.keyFile,
    'client-ca-file': pki.authority.certFile,
    'authorization-mode': 'Node,RBAC',
    'enable-admission-plugins': 'NodeRestriction',
    'enable-bootstrap-token-auth': 'true',
    'service-account-issuer': 'https://kubernetes.default.svc',
    'service-account-key-file': pki.signingKey,
    'service-account-signing-key-file': pki.signingKey,
    'service-cluster-ip-range': '10.96.0.0/16',
    // The endpoint of the service `kubernetes` may not be on the loopback, and no pod runs that would look for it.
    'endpoint-reconciler-type': 'none',
    'allow-privileged': 'true',
  };
}

interface ControllerManagerPlace {
  readonly pki: PlanePki;
  readonly kubeconfig: string;
}

export function controllerManagerFlags({ pki, kubeconfig }: ControllerManagerPlace): Flags {
  return {
    kubeconfig,
    controllers: '*,bootstrapsigner,tokencleaner',
    'leader-elect': 'false',
    port: '0',
    'secure-port': '0',
    'cluster-signing-cert-file': pki.authority.certFile,
    'cluster-signing-key-file': pki.authority.keyFile,
    'root-ca-file': pki.authority.certFile,
    'service-account-private-key-file': pki.signingKey,
    'use-service-account-credentials': 'true',
    'node-monitor-period': '1s',
    'node-monitor-grace-period': `${NODE_GRACE_S}s`,
  };
}

export function schedulerFlags(kubeconfig: string): Flags {
  return { kubeconfig, 'leader-elect': 'false', port: '0', 'secure-port': '0' };
}
