// Answers for an unknown path or method, with those that exist.
import type { Route } from '../access/index.ts';
import { suggestion } from '../fleet/index.ts';
import { HttpProblem } from './problem.ts';

export function notFoundProblemFor(routes: readonly Route[]): (method: string, url: string) => HttpProblem {
  const patterns = routes.map((route) => ({
    route,
    form: new RegExp(`^${formOf(route.path)}$`),
  }));
  const paths = [...new Set(routes.map((route) => route.path.replaceAll('::', ':')))];
  return (method, url) => {
    const path = url.split('?', 1)[0] ?? '';
    const allowed = patterns.filter(({ form }) => form.test(path)).map(({ route }) => route.method);
    if (allowed.length > 0) return wrongMethod(method, allowed);
    const hint = suggestion(path.slice(0, 200), paths);
    const detail = `There is nothing at this path${hint}. See /api/v1/openapi.json for the paths that there are.`;
    return new HttpProblem({ status: 404, code: 'route-not-found', detail });
  };
}

/** A parameter is anything but a slash; two colons are one that begins no parameter. */
function formOf(path: string): string {
  const escaped = path.replaceAll('.', String.raw`\.`).split('::');
  return escaped.map((part) => part.replaceAll(/:[A-Za-z]+/g, '[^/]+')).join(':');
}

function wrongMethod(method: string, allowed: readonly string[]): HttpProblem {
  const allow = allowed.join(', ');
  const detail = `This path does not take ${method}. It takes ${allow}.`;
  return new HttpProblem({ status: 405, code: 'method-not-allowed', detail, headers: { allow } });
}
