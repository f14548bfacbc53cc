/** Paths that end with a field: `/signals/{id}`. Pure. */

const TEMPLATE = /^(\/(?:[^{}]+\/)?)\{(\w+)\}$/;

/** The part before the field, and the field's name; `null` for a path without one. */
export function templateOf(path: string): { prefix: string; field: string } | null {
  const [, prefix, field] = TEMPLATE.exec(path) ?? [];
  return prefix === undefined || field === undefined ? null : { prefix, field };
}

/** The field's value in an address, by name; `null` if the address does not match. A field is one whole segment. */
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
