// The contents of the network back end against the journal: no address has two owners there, nothing is there that the journal never
// intended, and no NIC has two ports.
import { idOf } from '../../src/fleet/index.ts';
import { NETWORK_EVENT, PORT, type NetworkEvent } from '../../src/network/index.ts';
import { checkOn, type Checker } from './checker.ts';

const PORTS = { on: 'onNetwork', kinds: [PORT.name] } as const;

export const oneOwnerAtBackEnd: Checker = {
  name: 'never: an address has two owners at the back end',
  watch: checkOn(PORTS, ({ network }) => {
    const owners = new Map<string, string>();
    for (const [id, { addresses }] of network.backEnd.ports()) {
      for (const { ip, subnet } of addresses) {
        const key = `${ip} of ${subnet}`;
        const other = owners.get(key);
        if (other !== undefined) return `${key}: ${other} and ${id}`;
        owners.set(key, id);
      }
    }
    return undefined;
  }),
};

/** The intent is journalled before the port is made, and removed after the port is. */
export const portsIntended: Checker = {
  name: 'never: a port is at the back end that the journal does not know of',
  watch: checkOn(PORTS, ({ truth, network }) => {
    for (const [id, { instance }] of network.backEnd.ports()) {
      if (truth.get(PORT, idOf(PORT, id)) === undefined) return `${id} of ${instance ?? 'nobody'}`;
    }
    return undefined;
  }),
};

export const eventsGenuine: Checker = {
  name: 'never: an event is recorded that the back end did not send for this binding',
  watch: (violated, { network }) => ({
    onApplied: ({ applied }) => {
      for (const { kind, after } of applied) {
        if (kind !== NETWORK_EVENT.name || after === undefined) continue;
        const { port, serial, name } = after.doc as NetworkEvent;
        const binds = network.backEnd.calls.list().filter((call) => call.op === 'bind' && call.port === port);
        if (!binds.some((call) => call.serial === serial)) violated(`${port} ${name} under serial ${serial}`);
      }
    },
  }),
};

export const onePortPerNic: Checker = {
  name: 'never: the back end has two ports for one NIC',
  watch: checkOn(PORTS, ({ truth, network }) => {
    const nics = new Map<string, string>();
    for (const [id, { instance }] of network.backEnd.ports()) {
      const doc = truth.get(PORT, idOf(PORT, id))?.doc;
      if (instance === undefined || doc?.instance !== instance) continue;
      const key = `NIC ${doc.nic} of ${instance}`;
      const other = nics.get(key);
      if (other !== undefined) return `${key}: ${other} and ${id}`;
      nics.set(key, id);
    }
    return undefined;
  }),
};
