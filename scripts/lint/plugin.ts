// The oxlint plugin that enforces the design's rules. It only adapts the rules beside it to oxlint.
import { relative, resolve, sep } from 'node:path';
import type { RuleTester } from 'oxlint/plugins-dev';
import { fileNameProblem } from './file-names.ts';
import { directionProblem, purityProblem, type Import } from './imports.ts';
import { placeOf, type Place } from './place.ts';
import { globalProblem, isHeldToPurity } from './purity.ts';

type Rule = Extract<Parameters<RuleTester['run']>[1], { create: unknown }> & { createOnce?: never };
type Context = Parameters<Rule['create']>[0];
type Scope = NonNullable<Context['sourceCode']['scopeManager']['globalScope']>;
type Identifier = Scope['through'][number]['identifier'];

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

const plugin: { meta: { name: string }; rules: Record<string, Rule> } = {
  meta: { name: 'muster' },
  rules: {
    'import-direction': importRule(directionProblem),
    'pure-imports': importRule(purityProblem),
    'pure-globals': pureGlobals,
    'file-name': fileName,
  },
};

export default plugin;
