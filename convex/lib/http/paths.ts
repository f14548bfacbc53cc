/** Paths that end with a field: `/signals/{id}`. Pure. */

const TEMPLATE = /^(\/(?:[^{}]+\/)?)\{(\w+)\}$/;

/** What is before the field, and its name; `null` for a path without one. */
export function templateOf(path: string): { prefix: string; field: string } | null {
  const [, prefix, field] = TEMPLATE.exec(path) ?? [];
  return prefix === undefined || field === undefined ? null : { prefix, field };
}

/** The field's value in an address, by its name; `null` where the address does not fit: it is one whole segment. */
export function fieldsIn(path: string, pathname: string): Record<string, string> | null {
  const template = templateOf(path);
  if (template === null) return pathname === path ? {} : null;
  const { prefix, field } = template;
  const segment = pathname.startsWith(prefix) ? pathname.slice(prefix.length) : "";
  if (segment === "" || segment.includes("/")) return null;
  try {
    return { [field]: decodeURIComponent(segment) };
  } catch {
    return null;
  }
}
