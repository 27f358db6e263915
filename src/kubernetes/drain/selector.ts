// Which pods a budget chooses, by the rules of label selectors. An empty selector chooses all of its namespace; a missing one chooses none.
import type { Budget, LabelRequirement, Pod } from '../cluster-api/cluster-api.ts';

export function budgetsOf(pod: Pod, budgets: readonly Budget[]): Budget[] {
  return budgets.filter((budget) => budget.namespace === pod.namespace && selects(budget, pod.labels));
}

function selects({ selector }: Budget, labels: Pod['labels']): boolean {
  if (selector === undefined) return false;
  const { matchLabels = {}, matchExpressions = [] } = selector;
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every((requirement) => holds(requirement, labels))
  );
}

function holds({ key, operator, values = [] }: LabelRequirement, labels: Pod['labels']): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
  }
}
