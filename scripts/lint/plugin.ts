// The oxlint plugin that enforces the design's rules. It only adapts the rules beside it to oxlint.
import { relative, resolve, sep } from 'node:path';
import type { RuleTester } from 'oxlint/plugins-dev';
import { fileNameProblem } from './file-names.ts';
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

function importRule(judge: (from: Place, wanted: Import) => string | undefined): Rule {
  return {
    create(context) {
      const from = place(context);
      const check = (source: { range: [number, number]; value?: unknown } | null, typeOnly: boolean): void => {
        if (source === null) return;
        const specifier = typeof source.value === 'string' ? source.value : COMPUTED;
        const message = judge(from, { specifier, typeOnly });
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

/** A name that other code refers to: of a type, a function, a member, or a constant of the file. */
function isDeclaredName(node: Named): boolean {
  const parent = node.parent as Declaring;
  if (NAMED_BY_KEY.has(parent.type)) return parent.key === node && parent.computed !== true;
  if (!NAMED_BY_ID.has(parent.type) || parent.id !== node) return false;
  return parent.type !== 'VariableDeclarator' || isOfFile(parent);
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
    vocabulary,
  },
};

export default plugin;
