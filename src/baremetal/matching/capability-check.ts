// What a request may require of one capability, and whether a node's value holds. A value that begins like an operator and is none is refused when it
// is parsed: it would else never match, without a word about it.

/** Compare numbers. `=` is "at least", as Nova has it. */
const NUMBER_OPERATORS = ['=', '==', '!=', '>=', '<='] as const;
/** Compare texts, character by character. */
const TEXT_OPERATORS = ['s==', 's!=', 's<', 's<=', 's>', 's>='] as const;

type NumberOperator = (typeof NUMBER_OPERATORS)[number];
type TextOperator = (typeof TEXT_OPERATORS)[number];

export type CapabilityCheck =
  | { readonly kind: 'equal'; readonly value: string }
  | { readonly kind: 'number'; readonly operator: NumberOperator; readonly value: number }
  | { readonly kind: 'text'; readonly operator: TextOperator; readonly value: string }
  | { readonly kind: 'contains'; readonly value: string }
  | { readonly kind: 'all-in'; readonly values: readonly string[] }
  | { readonly kind: 'one-of'; readonly values: readonly string[] };

export interface MalformedCheck {
  readonly kind: 'malformed';
  readonly message: string;
}

const OPERATORS = [...NUMBER_OPERATORS, ...TEXT_OPERATORS, '<in>', '<all-in>', '<or>'];

/** What stands first and looks like an operator, and what follows it. */
const OPERATOR_AND_OPERAND = /^(<[a-z-]*>|s?[<>=!]+)\s*(.*)$/s;

const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

export function parseCapabilityCheck(written: string): CapabilityCheck | MalformedCheck {
  const text = written.trim();
  if (text === '') return malformed('must say what the capability has to be');
  const [, operator, operand = ''] = OPERATOR_AND_OPERAND.exec(text) ?? [];
  if (operator === undefined) return { kind: 'equal', value: text };
  if (!OPERATORS.includes(operator)) {
    return malformed(`must not begin with "${operator}", which is no operator; there are ${OPERATORS.join(', ')}`);
  }
  if (operand === '') return malformed(`must have an operand after "${operator}"`);
  if (isNumberOperator(operator)) {
    return NUMBER.test(operand)
      ? { kind: 'number', operator, value: Number(operand) }
      : malformed(`must have a number after "${operator}", and "${operand}" is none`);
  }
  return isTextOperator(operator) ? { kind: 'text', operator, value: operand } : parseTagged(operator, operand);
}

function parseTagged(operator: string, operand: string): CapabilityCheck | MalformedCheck {
  switch (operator) {
    case '<in>':
      return { kind: 'contains', value: operand };
    case '<all-in>':
      return operandList(operator, operand.replaceAll('<all-in>', ' ').trim().split(/\s+/), 'all-in');
    default:
      return operandList(operator, operand.split('<or>'), 'one-of');
  }
}

function operandList(
  operator: string,
  written: readonly string[],
  kind: 'all-in' | 'one-of',
): CapabilityCheck | MalformedCheck {
  const values = written.map((value) => value.trim());
  return values.includes('') ? malformed(`must have an operand after each "${operator}"`) : { kind, values };
}

function isNumberOperator(operator: string): operator is NumberOperator {
  return NUMBER_OPERATORS.includes(operator as NumberOperator);
}

function isTextOperator(operator: string): operator is TextOperator {
  return TEXT_OPERATORS.includes(operator as TextOperator);
}

function malformed(message: string): MalformedCheck {
  return { kind: 'malformed', message };
}

/** What separates the items of a node's value: it cannot be a comma, which separates capabilities. */
const BETWEEN_ITEMS = /[^A-Za-z0-9_.-]+/;

export function holds(test: CapabilityCheck, value: string): boolean {
  switch (test.kind) {
    case 'equal':
      return value === test.value;
    case 'number':
      return NUMBER.test(value) && compareNumbers(test.operator, Number(value), test.value);
    case 'text':
      return compareTexts(test.operator, value, test.value);
    case 'contains':
      return value.includes(test.value);
    case 'all-in': {
      const items = value.split(BETWEEN_ITEMS);
      return test.values.every((one) => items.includes(one));
    }
    case 'one-of':
      return test.values.includes(value);
  }
}

function compareNumbers(operator: NumberOperator, value: number, wanted: number): boolean {
  switch (operator) {
    case '=':
    case '>=':
      return value >= wanted;
    case '==':
      return value === wanted;
    case '!=':
      return value !== wanted;
    case '<=':
      return value <= wanted;
  }
}

function compareTexts(operator: TextOperator, value: string, wanted: string): boolean {
  switch (operator) {
    case 's==':
      return value === wanted;
    case 's!=':
      return value !== wanted;
    case 's<':
      return value < wanted;
    case 's<=':
      return value <= wanted;
    case 's>':
      return value > wanted;
    case 's>=':
      return value >= wanted;
  }
}
