// Decides on changes to a registered cluster: how machines of its workers are reached, the script that joins them, and how workers are drained.
import { idOf, put, remove, type Change, type FleetReader, type Refusal, type ChangeNote } from '../../fleet/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import { WORKER_SCRIPT } from '../join/model.ts';
import { CLUSTER, type Cluster, type DrainPolicy, type SshAccess } from '../model.ts';
import { unknownCluster } from '../workers/decide.ts';
import type { ClusterFacts } from '../cluster-api/cluster-api.ts';
import type { StoredAccess } from './access-request.ts';
import { describeFacts } from './observe.ts';
import type { SshEdit } from './reach-request.ts';

/** What is absent stays as it is. */
export interface ClusterEdit {
  /** In the place of all that is known of it: nothing of the one before is sent where the new one leads. */
  readonly access?: StoredAccess;
  /** What the cluster said of itself when it was looked at by the new access. */
  readonly facts?: ClusterFacts;
  readonly reach?: Cluster['reach'];
  readonly ssh?: SshEdit;
  readonly workerScript?: { readonly text: string; readonly digest: string } | null;
  readonly joinEndpoint?: string | null;
  readonly drainPolicy?: Partial<DrainPolicy>;
  readonly whenHostLeaves?: Cluster['whenHostLeaves'];
  readonly drainsAtOnce?: number;
}

const SSH_PORT = 22;

export function editCluster(
  fleet: FleetReader,
  { id: name, edit }: { readonly id: string; readonly edit: ClusterEdit },
  { by, nowMs }: ChangeNote,
): Decision<unknown> {
  const stored = fleet.get(CLUSTER, idOf(CLUSTER, name));
  if (stored === undefined) return refuse(unknownCluster(name));
  if (edit.access !== undefined && stored.doc.kind === 'simulated') return refuse(refuseKubeconfig());
  const ssh = mergeSsh(stored.doc, edit);
  if (ssh !== undefined && 'code' in ssh) return refuse(ssh);
  const reach = edit.reach ?? (edit.ssh === undefined ? stored.doc.reach : 'ssh');
  const denied = denyReach(stored.doc, edit, { reach, ssh });
  if (denied !== undefined) return refuse(denied);
  const doc = composeCluster(replaceAccess(stored.doc, edit), edit, { reach, ssh });
  if (JSON.stringify(doc) === JSON.stringify(stored.doc) && !('workerScript' in edit)) return accept([], null);
  return accept(
    [
      put(CLUSTER, stored.id, { ...doc, changedBy: by, changedAtMs: nowMs }),
      ...changeScript(fleet, name, { edit, by, nowMs }),
    ],
    null,
  );
}

/** Its state is that of the next look: it is a few seconds away. */
function replaceAccess(doc: Cluster, { access, facts }: ClusterEdit): Cluster {
  if (access === undefined) return doc;
  const { endpoint: _, caCertificate: __, tlsServerName: ___, skipTlsVerify: ____, credentials: _____, ...rest } = doc;
  return { ...rest, ...access, ...(facts !== undefined && describeFacts(facts)) };
}

export function refuseKubeconfig(): Refusal {
  const message = 'A simulated cluster is reached without a kubeconfig. Leave it out.';
  return { kind: 'invalid', code: 'kubeconfig-unused', message, field: '/kubeconfig' };
}

interface Reached {
  readonly reach: Cluster['reach'];
  readonly ssh: SshAccess | undefined;
}

function composeCluster(doc: Cluster, edit: ClusterEdit, { reach, ssh }: Reached): Cluster {
  const { workerScript = doc.workerScript, joinEndpoint = doc.joinEndpoint } = edit;
  const { ssh: _, workerScript: __, joinEndpoint: ___, ...rest } = doc;
  const digest = typeof workerScript === 'object' ? workerScript?.digest : workerScript;
  return {
    ...rest,
    reach,
    ...(ssh !== undefined && { ssh }),
    ...(digest !== undefined && { workerScript: digest }),
    ...(typeof joinEndpoint === 'string' && { joinEndpoint }),
    drainPolicy: { ...doc.drainPolicy, ...edit.drainPolicy },
    whenHostLeaves: edit.whenHostLeaves ?? doc.whenHostLeaves,
    drainsAtOnce: edit.drainsAtOnce ?? doc.drainsAtOnce,
  };
}

/** Whole, or a refusal that names what lacks. Kept when machines are reached otherwise for a while. */
function mergeSsh({ ssh: before }: Cluster, { ssh: edit }: ClusterEdit): SshAccess | Refusal | undefined {
  if (edit === undefined) return before;
  const { address = before?.address ?? null, sudo = before?.sudo ?? false, ...fields } = edit;
  const { address: _, sudo: __, ...kept } = before ?? { port: SSH_PORT, knownHosts: [] };
  const merged = {
    ...kept,
    ...fields,
    ...(address !== null && { address }),
    ...(sudo && { sudo: true as const }),
  };
  const { user, hostKeys, credentials, proof } = merged as Partial<SshAccess>;
  if (user === undefined) return requireField('user', 'as whom Muster logs in there: --ssh-user');
  if (credentials === undefined || proof === undefined)
    return requireField('key', 'what Muster proves itself by there: --ssh-key or --ssh-password');
  if (hostKeys === undefined)
    return requireField('hostKeys', 'which host keys are taken: --known-hosts, or --trust-first-use');
  const access = { ...merged, user, hostKeys, credentials, proof };
  return denyHostKeys(access) ?? denyOtherMachines(before, access) ?? access;
}

/** Where a password is sent, and to whom. A key never leaves this side. */
const RECIPIENT_FIELDS = ['address', 'port', 'hostKeys', 'knownHosts'] as const;

/** Whoever may change a cluster need not know its password, and must not have it sent to a machine of choice. */
function denyOtherMachines(before: SshAccess | undefined, after: SshAccess): Refusal | undefined {
  if (before === undefined || before.proof !== 'password' || before.credentials !== after.credentials) return undefined;
  const field = RECIPIENT_FIELDS.find((one) => JSON.stringify(before[one]) !== JSON.stringify(after[one]));
  if (field === undefined) return undefined;
  const message = `With another ${FIELD_TITLES[field]} the password of this cluster would be sent to other machines. Give it again with this change, or use a key.`;
  return { kind: 'invalid', code: 'ssh-password-required', message, field: '/ssh/password', facts: { changed: field } };
}

const FIELD_TITLES: Readonly<Record<(typeof RECIPIENT_FIELDS)[number], string>> = {
  address: 'address',
  port: 'port',
  hostKeys: 'rule for host keys',
  knownHosts: 'list of known hosts',
};

function requireField(field: string, what: string): Refusal {
  const message = `To reach machines by SSH, say ${what}.`;
  return { kind: 'invalid', code: 'ssh-incomplete', message, field: `/ssh/${field}` };
}

function denyHostKeys({ hostKeys, knownHosts }: SshAccess): Refusal | undefined {
  if (hostKeys === 'pinned' && knownHosts.length === 0) {
    const message =
      'No host key is pinned, so that no machine could prove itself. Give some, or take the first that each shows.';
    return { kind: 'invalid', code: 'host-keys-required', message, field: '/ssh/knownHosts' };
  }
  if (hostKeys === 'pinned' || knownHosts.length === 0) return undefined;
  const message =
    'With the first key of each machine taken, none is pinned. Leave the list out, or say that they are pinned.';
  return { kind: 'invalid', code: 'host-keys-unused', message, field: '/ssh/knownHosts' };
}

function denyReach({ name, kind }: Cluster, edit: ClusterEdit, { reach, ssh }: Reached): Refusal | undefined {
  if (kind === 'simulated' && reach === 'ssh') {
    const message = `Cluster "${name}" is simulated, as the machines of its workers are. Nothing is reached by SSH there: leave the reach as it is.`;
    return { kind: 'invalid', code: 'cluster-simulated', message, field: '/reach', facts: { cluster: name } };
  }
  if (reach === 'ssh' && ssh === undefined) return requireField('user', 'as whom Muster logs in there: --ssh-user');
  if (reach === 'ssh' || edit.ssh === undefined) return undefined;
  const message = `With the reach "${reach}" nothing is reached by SSH. Leave those settings out, or say that it is "ssh".`;
  return { kind: 'invalid', code: 'ssh-unused', message, field: '/ssh' };
}

function changeScript(
  fleet: FleetReader,
  cluster: string,
  { edit: { workerScript }, by, nowMs }: ChangeNote & { readonly edit: ClusterEdit },
): Change[] {
  if (workerScript === undefined) return [];
  if (workerScript === null) return removeScript(fleet, cluster);
  const doc = { cluster, text: workerScript.text, changedBy: by, changedAtMs: nowMs };
  return [put(WORKER_SCRIPT, idOf(WORKER_SCRIPT, cluster), doc)];
}

/** A script goes with its cluster. */
export function removeScript(fleet: FleetReader, cluster: string): Change[] {
  const id = idOf(WORKER_SCRIPT, cluster);
  return fleet.get(WORKER_SCRIPT, id) === undefined ? [] : [remove(WORKER_SCRIPT, id)];
}
