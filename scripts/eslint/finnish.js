// @ts-check
// eslint-plugin-rxjs-x has a rule of this name, which also wants the `$` on every function that returns an Observable
// (`project`, `operator`, `create`) and can't tell a variable that holds one from a variable that holds an Observable.
import ts from 'typescript';

/** Turns are read as values, though a StreamingTurn is an Observable too (as a GroupedObservable is). */
const exempt = new Set(['StreamingTurn', 'GroupedObservable']);

/** @type {(type: ts.Type) => boolean} */
const isObservable = type => {
  /** @type {string | undefined} `symbol` is not always there, whatever its type says */
  const name = type.symbol?.name;
  if (name !== undefined && exempt.has(name)) return false;
  if (type.isUnion()) {
    const present = type.types.filter(
      member => !(member.flags & (ts.TypeFlags.Null | ts.TypeFlags.Undefined)),
    );
    return present.length > 0 && present.every(isObservable);
  }
  if (type.isIntersection()) return type.types.some(isObservable);
  if (type.isTypeParameter()) {
    const constraint = type.getConstraint();
    return constraint !== undefined && isObservable(constraint);
  }
  if (name === 'Observable') return true;
  const declared = /** @type {ts.TypeReference} */ (type).target ?? type;
  return declared.isClassOrInterface() && (declared.getBaseTypes() ?? []).some(isObservable);
};

/** @type {import('eslint').Rule.RuleModule} */
export default {
  meta: {
    type: 'suggestion',
    docs: { description: 'Variables, parameters and properties that hold an Observable end in `$`.' },
    schema: [],
    messages: { dollar: "'{{name}}' holds an Observable: end its name in '$'." },
  },
  create: context => {
    /** @type {{ getTypeAtLocation(node: unknown): ts.Type }} */
    const services = context.sourceCode.parserServices;

    /** @param {any} name the node of a name that is being declared */
    const check = name => {
      if (name.type !== 'Identifier' || name.name.endsWith('$')) return;
      if (isObservable(services.getTypeAtLocation(name))) {
        context.report({ node: name, messageId: 'dollar', data: { name: name.name } });
      }
    };

    /** @param {any} pattern an identifier, or what it is destructured from */
    const checkPattern = pattern => {
      switch (pattern?.type) {
        case 'Identifier':
          return check(pattern);
        case 'AssignmentPattern':
          return checkPattern(pattern.left);
        case 'RestElement':
          return checkPattern(pattern.argument);
        case 'ArrayPattern':
          return pattern.elements.forEach(checkPattern);
        case 'ObjectPattern':
          return pattern.properties.forEach((/** @type {any} */ property) =>
            checkPattern(property.type === 'Property' ? property.value : property),
          );
        case 'TSParameterProperty':
          return checkPattern(pattern.parameter);
      }
    };

    /** @param {any} node */
    const parameters = node => node.params.forEach(checkPattern);

    return {
      VariableDeclarator: node => checkPattern(node.id),
      ArrowFunctionExpression: parameters,
      FunctionDeclaration: parameters,
      FunctionExpression: parameters,
      TSDeclareFunction: parameters,
      TSEmptyBodyFunctionExpression: parameters,
      TSFunctionType: parameters,
      TSCallSignatureDeclaration: parameters,
      TSMethodSignature: parameters,
      'PropertyDefinition[computed=false]': (/** @type {any} */ node) => check(node.key),
      'TSPropertySignature[computed=false]': (/** @type {any} */ node) => check(node.key),
      "MethodDefinition[kind='get'][computed=false]": (/** @type {any} */ node) => check(node.key),
    };
  },
};
