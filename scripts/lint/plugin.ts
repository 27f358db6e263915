// The oxlint plugin that enforces the design's rules. It only adapts the rules beside it to oxlint.
import { relative, resolve, sep } from 'node:path';
import type { RuleTester } from 'oxlint/plugins-dev';
import { fileNameProblem } from './file-names.ts';
import { functionNameProblem } from './function-names.ts';
import { directionProblem, purityProblem, type Import } from './imports.ts';
import { placeOf, type Place } from './place.ts';
import { globalProblem, isHeldToPurity } from './purity.ts';
import { vocabularyProblem } from './vocabulary.ts';

type Rule = Extract<Parameters<RuleTester['run']>[1], { create: unknown }> & { createOnce?: never };
type Context = Parameters<Rule['create']>[0];
type Scope = NonNullable<Context['sourceCode']['scopeManager']['globalScope']>;
type Identifier = Scope['through'][number]['identifier'];

type Named = Parameters<NonNullable<ReturnType<NonNullable<Rule['create']>>['PrivateIdentifier']>>[0] | Identifier;

/** What holds a name, as far as this plugin looks at it. */
interface Declaring {
  readonly type: string;
  readonly id?: unknown;
  readonly key?: unknown;
  readonly computed?: boolean;
  readonly parent?: Declaring;
}

const ROOT = resolve(import.meta.dirname, '../..');

/** `import(name)`: its target is unknown, so every rule about places refuses it. */
const COMPUTED = 'a module by a computed name';

function place(context: Context): Place {
  return placeOf(relative(ROOT, context.filename).split(sep).join('/'));
}

function importRule(findProblem: (from: Place, wanted: Import) => string | undefined): Rule {
  return {
    create(context) {
      const from = place(context);
      const check = (source: { range: [number, number]; value?: unknown } | null, typeOnly: boolean): void => {
        if (source === null) return;
        const specifier = typeof source.value === 'string' ? source.value : COMPUTED;
        const message = findProblem(from, { specifier, typeOnly });
        if (message !== undefined) context.report({ message, node: source });
      };
      return {
        // `import { type A }` still runs the module: only the keyword in front makes it an import of types alone.
        ImportDeclaration: (node) => check(node.source, node.importKind === 'type'),
        ExportNamedDeclaration: (node) => check(node.source, node.exportKind === 'type'),
        ExportAllDeclaration: (node) => check(node.source, node.exportKind === 'type'),
        ImportExpression: (node) => check(node.source, false),
        TSImportType: (node) => check(node.source, true),
      };
    },
  };
}

const pureGlobals: Rule = {
  create(context) {
    const from = place(context);
    if (!isHeldToPurity(from)) return {};
    return {
      Program() {
        for (const identifier of globalReferences(context.sourceCode.scopeManager.globalScope)) {
          if (isInType(identifier)) continue;
          const message = globalProblem(from, identifier.name, memberOf(identifier));
          if (message !== undefined) context.report({ message, node: identifier });
        }
      },
    };
  },
};

const fileName: Rule = {
  create: (context) => ({
    Program(node) {
      const message = fileNameProblem(place(context));
      if (message !== undefined) context.report({ message, node });
    },
  }),
};

/** Each name once a file: a list of its uses says nothing more. */
const vocabulary: Rule = {
  create(context) {
    const { path, name } = place(context);
    const reported = new Set<string>();
    const check = (node: Named, isDeclared: boolean): void => {
      const message = vocabularyProblem(path, node.name, isDeclared);
      if (message === undefined || reported.has(node.name)) return;
      reported.add(node.name);
      context.report({ message, node });
    };
    return {
      Program(node) {
        const message = vocabularyProblem(path, name, true);
        if (message !== undefined) context.report({ message, node });
      },
      Identifier: (node) => check(node, isDeclaredName(node)),
      PrivateIdentifier: (node) => check(node, isDeclaredName(node)),
    };
  },
};

/** Where a function gets its name. What implements a member is named by the type that declares it. */
const functionName: Rule = {
  create(context) {
    const from = place(context);
    const check = (name: { readonly type: string } | null, isMember: boolean): void => {
      if (name === null || !isName(name)) return;
      const message = functionNameProblem(from, name.name, isMember);
      if (message !== undefined) context.report({ message, node: name });
    };
    return {
      FunctionDeclaration: (node) => check(node.id, false),
      VariableDeclarator: (node) => {
        if (isFunction(node.init)) check(node.id, false);
      },
      MethodDefinition: (node) => {
        if (node.kind === 'method' && !node.computed) check(node.key, true);
      },
      PropertyDefinition: (node) => {
        if (isFunction(node.value) && !node.computed) check(node.key, true);
      },
      TSMethodSignature: (node) => {
        if (node.kind === 'method' && !node.computed) check(node.key, true);
      },
      TSPropertySignature: (node) => {
        if (node.typeAnnotation?.typeAnnotation.type === 'TSFunctionType' && !node.computed) check(node.key, true);
      },
    };
  },
};

function isName(node: { readonly type: string }): node is Named {
  return node.type === 'Identifier' || node.type === 'PrivateIdentifier';
}

function isFunction(node: { readonly type: string } | null): boolean {
  return node !== null && (node.type === 'ArrowFunctionExpression' || node.type === 'FunctionExpression');
}

/** Known globals are variables without a definition; unknown ones (Node's) are references that nothing resolves. */
function globalReferences(scope: Scope | null): Identifier[] {
  if (scope === null) return [];
  const known = scope.variables.filter((variable) => variable.defs.length === 0);
  const references = [...known.flatMap((variable) => variable.references), ...scope.through];
  return references.map((reference) => reference.identifier);
}

const TYPE_PARENTS = new Set([
  'TSClassImplements',
  'TSInterfaceHeritage',
  'TSQualifiedName',
  'TSTypeQuery',
  'TSTypeReference',
]);

function isInType(identifier: Identifier): boolean {
  return TYPE_PARENTS.has(identifier.parent.type);
}

function memberOf(identifier: Identifier): string | undefined {
  const { parent } = identifier;
  if (parent.type !== 'MemberExpression' || parent.object !== identifier || parent.computed) return undefined;
  return parent.property.type === 'Identifier' ? parent.property.name : undefined;
}

const NAMED_BY_ID = new Set([
  'ClassDeclaration',
  'FunctionDeclaration',
  'TSInterfaceDeclaration',
  'TSTypeAliasDeclaration',
  'VariableDeclarator',
]);
const NAMED_BY_KEY = new Set([
  'MethodDefinition',
  'PropertyDefinition',
  'TSAbstractMethodDefinition',
  'TSMethodSignature',
  'TSPropertySignature',
]);

/** A name that other code refers to: of a type, a function, a member, a property, or a constant of the file. */
function isDeclaredName(node: Named): boolean {
  const parent = node.parent as Declaring;
  if (NAMED_BY_KEY.has(parent.type)) return parent.key === node && parent.computed !== true;
  if (parent.type === 'Property') return isKeyOfObject(parent, node);
  if (!NAMED_BY_ID.has(parent.type) || parent.id !== node) return false;
  return parent.type !== 'VariableDeclarator' || isOfFile(parent);
}

/** Of an object that is made, not of one that is taken apart. A shorthand makes a property of the name as well. */
function isKeyOfObject(property: Declaring, node: Named): boolean {
  return property.parent?.type === 'ObjectExpression' && property.key === node && property.computed !== true;
}

function isOfFile(declarator: Declaring): boolean {
  const around = declarator.parent?.parent?.type;
  return around === 'Program' || around === 'ExportNamedDeclaration';
}

const plugin: { meta: { name: string }; rules: Record<string, Rule> } = {
  meta: { name: 'muster' },
  rules: {
    'import-direction': importRule(directionProblem),
    'pure-imports': importRule(purityProblem),
    'pure-globals': pureGlobals,
    'file-name': fileName,
    'function-name': functionName,
    vocabulary,
  },
};

export default plugin;
