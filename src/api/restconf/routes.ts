// The RESTCONF surface (RFC 8040) for tools that speak to the SDN controllers which this program replaces. JSON only.
import { Type } from 'typebox';
import {
  strictObject,
  HOST_MARK,
  jsonPieces,
  NOT_PREPARED,
  read,
  refusalAnswer,
  write,
  type Answer,
  type HandlerResult,
  type HostMark,
  type Route,
  type Redactor,
  type Committed,
} from '../../access/index.ts';
import { idOf, valueOf, type Refusal } from '../../fleet/index.ts';
import {
  answerFromMemo,
  endInSlices,
  memoOf,
  recoverHosts,
  SCALE_IN,
  preparableWrite,
  startInSlices,
  type Evacuator,
  type ScaleInAnswer,
  type PreparableDecision,
  type SlicingContext,
} from '../../hosts/index.ts';
import { refuse } from '../../journal/index.ts';
import { OPERATION, type Explain } from '../../operations/index.ts';
import { YANG_JSON } from './errors.ts';
import { LIBRARY_VERSION, MODULE, operations, RPCS, scaleInModule, yangLibrary, type Rpc } from './library.ts';
import { withRestconfSentences, inputSchema, readRequestedNodes, outputOf, withSentences } from './rpc.ts';
import { listVisibleHosts, inventoryNodeOf, inventoryOf, TOPOLOGY_ID, topologyNodeOf, topologyOf } from './topology.ts';

export interface RestconfOptions {
  readonly evacuators: readonly Evacuator[];
  readonly explain: Explain;
}

const FACE = { tag: 'restconf', dialect: 'restconf', access: 'viewer', scope: 'site' } as const;
const TEXT = Type.String({ minLength: 1, maxLength: 300 });
/** By any id of a host. */
const NODE = Type.String({ minLength: 1, maxLength: 300, [HOST_MARK]: 'name' satisfies HostMark });
const TREE = Type.Object({}, { additionalProperties: true });
const yang = (body: object): Answer => ({ kind: 'answer', status: 200, body, type: YANG_JSON });
/** The same for what is as large as the fleet. */
const pieces = (body: () => object): Answer => ({
  kind: 'answer',
  status: 200,
  pieces: () => jsonPieces(body()),
  type: YANG_JSON,
});
const ok = (about: string) => ({ 200: { about, schema: TREE, type: YANG_JSON } });

export function restconfRoutes(options: RestconfOptions): Route[] {
  return [hostMeta, ...library(), ...topology(), ...inventory(), ...RPCS.map((rpc) => rpcRoute(rpc, options))];
}

/** How a client finds the root (RFC 8040, section 3.1). */
const hostMeta = read({
  method: 'GET',
  path: '/.well-known/host-meta',
  tag: 'restconf',
  about: 'Say where the RESTCONF root is',
  access: 'public',
  answers: { 200: { about: 'a resource descriptor', type: 'application/xrd+xml' } },
  handle: () => ({
    kind: 'answer',
    status: 200,
    text: "<XRD xmlns='http://docs.oasis-open.org/ns/xri/xrd-1.0'>\n  <Link rel='restconf' href='/restconf'/>\n</XRD>\n",
    type: 'application/xrd+xml',
  }),
});

function library(): Route[] {
  const plain = (path: string, about: string, body: () => object): Route =>
    read({ ...FACE, method: 'GET', path, about, answers: ok(about), handle: () => yang(body()) });
  const version = { 'yang-library-version': LIBRARY_VERSION };
  return [
    datastore(),
    plain('/restconf', 'Show the RESTCONF root', () => ({
      'ietf-restconf:restconf': { data: {}, operations: operations(), ...version },
    })),
    plain('/restconf/yang-library-version', 'Show the version of the YANG library', () => ({
      'ietf-restconf:yang-library-version': LIBRARY_VERSION,
    })),
    plain('/restconf/operations', 'List the RESTCONF operations', () => ({
      'ietf-restconf:operations': operations(),
    })),
    plain('/restconf/data/ietf-yang-library::yang-library', 'Show the YANG library', () => ({
      'ietf-yang-library:yang-library': yangLibrary(),
    })),
    read({
      ...FACE,
      method: 'GET',
      path: '/restconf/modules/:module',
      about: 'Download a YANG module',
      params: strictObject({ module: TEXT }),
      answers: { 200: { about: 'the module', type: 'application/yang' } },
      handle: ({ params: { module } }): HandlerResult => {
        const { text, revision } = scaleInModule();
        const known = [`${MODULE}.yang`, `${MODULE}@${revision}.yang`];
        if (!known.includes(module)) return refusalAnswer(notFoundRefusal('module', module, known.join(' and ')));
        return { kind: 'answer', status: 200, text, type: 'application/yang' };
      },
    }),
  ];
}

/** All that can be read, as one tree (RFC 8040, section 3.3.1). Costs O(fleet), as a listing of everything does. */
function datastore(): Route {
  return read({
    ...FACE,
    method: 'GET',
    path: '/restconf/data',
    about: 'Show the datastore: everything that is below it',
    answers: ok('the datastore'),
    scansFleet: () => true,
    handle: ({ caller, headersOnly }, { journal: { fleet } }) => {
      const hosts = headersOnly === true ? [] : listVisibleHosts(fleet, caller);
      const renderDatastore = () => ({
        'ietf-restconf:data': {
          'ietf-yang-library:yang-library': yangLibrary(),
          'network-topology:network-topology': { topology: [topologyOf(hosts)] },
          'opendaylight-inventory:nodes': { node: inventoryOf(hosts) },
        },
      });
      // Of the whole of it, so the revision of the fleet (section 3.4.1.2).
      return { ...pieces(renderDatastore), etag: fleet.revision };
    },
  });
}

function topology(): Route[] {
  const path = '/restconf/data/network-topology::network-topology';
  return [
    read({
      ...FACE,
      method: 'GET',
      path,
      about: 'Show the topology: a node for each host',
      scansFleet: () => true,
      answers: ok('the topology'),
      handle: ({ caller, headersOnly }, { journal: { fleet } }) => {
        const hosts = headersOnly === true ? [] : listVisibleHosts(fleet, caller);
        return pieces(() => ({ 'network-topology:network-topology': { topology: [topologyOf(hosts)] } }));
      },
    }),
    read({
      ...FACE,
      method: 'GET',
      path: `${path}/topology=:topology`,
      about: 'Show one topology; there is one, ovsdb:1',
      scansFleet: () => true,
      params: strictObject({ topology: TEXT }),
      answers: ok('the topology'),
      handle: ({ caller, headersOnly, params }, { journal: { fleet } }) => {
        if (params.topology !== TOPOLOGY_ID)
          return refusalAnswer(notFoundRefusal('topology', params.topology, TOPOLOGY_ID));
        const hosts = headersOnly === true ? [] : listVisibleHosts(fleet, caller);
        return pieces(() => ({ 'network-topology:topology': [topologyOf(hosts)] }));
      },
    }),
    read({
      ...FACE,
      method: 'GET',
      path: `${path}/topology=:topology/node=:node`,
      about: 'Show the topology node of a host, by any of its ids',
      params: strictObject({ topology: TEXT, node: NODE }),
      answers: ok('the node'),
      handle: ({ caller, params }, { journal: { fleet } }) => {
        if (params.topology !== TOPOLOGY_ID)
          return refusalAnswer(notFoundRefusal('topology', params.topology, TOPOLOGY_ID));
        const node = topologyNodeOf(fleet, caller, params.node);
        return node === undefined
          ? refusalAnswer(notFoundRefusal('node', params.node))
          : yang({ 'network-topology:node': [node] });
      },
    }),
  ];
}

function inventory(): Route[] {
  const path = '/restconf/data/opendaylight-inventory::nodes';
  return [
    read({
      ...FACE,
      method: 'GET',
      path,
      about: 'Show the inventory: the hosts whose switch has a datapath id',
      scansFleet: () => true,
      answers: ok('the inventory'),
      handle: ({ caller, headersOnly }, { journal: { fleet } }) => {
        const hosts = headersOnly === true ? [] : listVisibleHosts(fleet, caller);
        return pieces(() => ({ 'opendaylight-inventory:nodes': { node: inventoryOf(hosts) } }));
      },
    }),
    read({
      ...FACE,
      method: 'GET',
      path: `${path}/node=:node`,
      about: 'Show the inventory node of a host, by any of its ids',
      params: strictObject({ node: NODE }),
      answers: ok('the node'),
      handle: ({ caller, params: { node: id } }, { journal: { fleet } }) => {
        const node = inventoryNodeOf(fleet, caller, id);
        return node === undefined
          ? refusalAnswer(notFoundRefusal('node', id))
          : yang({ 'opendaylight-inventory:node': [node] });
      },
    }),
  ];
}

function rpcRoute(rpc: Rpc, { evacuators, explain: usual }: RestconfOptions): Route {
  const explain = withRestconfSentences(usual);
  return write({
    ...FACE,
    method: 'POST',
    path: `/restconf/operations/${MODULE}::${rpc}`,
    about: ABOUT[rpc],
    access: 'operator',
    body: inputSchema(rpc),
    answers: ok('a result for every host'),
    handle: ({ body, caller, authority }, world) => {
      const { clock, ids, redactorFor } = world;
      const hosts = readRequestedNodes(body);
      const operation = idOf(OPERATION, ids.next('op'));
      const command = { hosts, operation, site: caller.site, by: caller.name, nowMs: clock.nowMs() };
      return preparableWrite(VERBS[rpc](command, { world, authority, evacuators }), (decide) => ({
        why: rpc,
        operation,
        decide: (fleet) => {
          const decision = decide(fleet);
          if (decision.kind === 'accept' || decision.refusal.code === NOT_PREPARED) return decision;
          return refuse(withSentences(decision.refusal, rpc, limitExplain(explain, redactorFor(caller, fleet))));
        },
        answer: ({ result: made, after: { redactor } }: Committed<ScaleInAnswer>) => {
          const memo = memoOf(made, operation);
          const rendered = yang(outputOf(made, limitExplain(explain, redactor)));
          return memo === undefined ? rendered : { ...rendered, memo };
        },
        recompose: ({ memo, operation: started, redactor }) =>
          yang(outputOf(answerFromMemo(memo, hosts, started), limitExplain(explain, redactor))),
      }));
    },
  });
}

/** A host that was not found is named as the caller wrote it: the answer is the same whether another site has it or not. */
const OWN_WORDS: readonly string[] = ['unknown-host', 'ambiguous-host'];

function limitExplain(explain: Explain, sight: Redactor | undefined): Explain {
  if (sight === undefined) return explain;
  return (reason) => explain(OWN_WORDS.includes(reason.code) ? reason : sight.redactReason(reason));
}

const ABOUT: Readonly<Record<Rpc, string>> = {
  'scalein-computes-start': 'Mark hosts as leaving and begin to empty them; all of them, or none',
  'scalein-computes-end': 'Remove those hosts that are proven empty and disconnected',
  'scalein-computes-recover': 'Bring back hosts that are leaving',
};

interface Command {
  readonly hosts: readonly string[];
  /** Hosts of other sites are unknown to a caller that is bound to one. */
  readonly site: string | undefined;
  readonly operation: ReturnType<typeof idOf<'operation'>>;
  readonly by: string;
  readonly nowMs: number;
}

const VERBS: Readonly<Record<Rpc, (command: Command, slicing: SlicingContext) => PreparableDecision>> = {
  'scalein-computes-start': (command, slicing) =>
    startInSlices(slicing, (fleet) => {
      const { restconfDrain: drain, drainDeadlineMs: deadlineMs } = valueOf(fleet, SCALE_IN);
      return { ...command, drain, deadlineMs };
    }),
  'scalein-computes-end': (command, slicing) => endInSlices(slicing, () => ({ ...command, disconnect: false })),
  'scalein-computes-recover': (command) => ({
    decide: (fleet) => recoverHosts(fleet, { ...command, failBack: false }),
  }),
};

function notFoundRefusal(what: string, id: string, known?: string): Refusal {
  const hint = known === undefined ? ' GET the list without a key to see those there are.' : ` There is ${known}.`;
  return { kind: 'not-found', code: `unknown-${what}`, message: `There is no ${what} "${id}".${hint}` };
}
