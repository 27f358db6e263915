// The words of flows in one form, however they were written: fields in order, flags in order, numbers in decimal, no quotes. Written
// apart from everything in the product, so that a mistake there is not made here as well.

export function normalizeMatch(text: string): string {
  const fields = splitOutside(unquote(text), ',').filter((field) => field !== '');
  return fields.map(normalizeField).sort().join(',');
}

export function normalizeActions(text: string): string {
  const actions = splitOutside(unquote(text), ',').filter((action) => action !== '');
  return actions.map(normalizeAction).join(',');
}

function normalizeField(field: string): string {
  const at = field.indexOf('=');
  if (at === -1) return field;
  const [name, value] = [field.slice(0, at), field.slice(at + 1)];
  if (name === 'ct_state') return `ct_state=${(value.match(/[+-]\w+/g) ?? []).sort().join('')}`;
  // ovs-ofctl has one word for both; the protocol distinguishes them.
  return `${name === 'icmpv6_type' ? 'icmp_type' : name}=${normalizeValue(value)}`;
}

function normalizeAction(action: string): string {
  const moved = /^(set_field|load):(.*)->(.*)$/.exec(action);
  if (moved !== null) return `${moved[1]}:${normalizeValue(moved[2] ?? '')}->${moved[3]}`;
  const tracking = /^ct\((.*)\)$/.exec(action);
  // The order of what is said about tracking means nothing.
  if (tracking !== null)
    return `ct(${splitOutside(tracking[1] ?? '', ',')
      .sort()
      .join(',')})`;
  return action;
}

/** Numbers alone: addresses have dots or colons in them. */
function normalizeValue(value: string): string {
  return value
    .split('/')
    .map((part) => (/^0x[0-9a-f]+$/i.test(part) ? BigInt(part).toString() : part))
    .join('/');
}

function unquote(text: string): string {
  return text.replaceAll(/["\s]/g, '');
}

/** Splits where the separator is not inside of brackets. */
function splitOutside(text: string, separator: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let begin = 0;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at];
    if (sign === '(' || sign === '[') depth += 1;
    else if (sign === ')' || sign === ']') depth -= 1;
    else if (depth === 0 && text.startsWith(separator, at)) {
      parts.push(text.slice(begin, at));
      begin = at + separator.length;
    }
  }
  return [...parts, text.slice(begin)];
}
