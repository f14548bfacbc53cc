/** What a caller would rather have, by the `Accept` header (RFC 9110, 12.5.1). Pure. */

type Rating = {
  /** 0 to 1; 0 is not wanted at all. */
  weight: number;
  /** 2: named itself, 1: by its kind, 0: by anything at all. */
  exactness: number;
  /** Its place in the header. */
  place: number;
};

/**
 * Whether HTML comes before JSON: by weight, else named where JSON is not, else named first. A caller who does not care gets JSON.
 */
export function prefersHtml(accept: string | null): boolean {
  const ranges = (accept ?? "").split(",").map((range, place) => ({ ...parsed(range), place }));
  const [html, json] = [rated(ranges, "text", "html"), rated(ranges, "application", "json")];
  if (html.weight === 0) return false;
  if (html.weight !== json.weight) return html.weight > json.weight;
  if (html.exactness !== json.exactness) return html.exactness > json.exactness;
  return html.place < json.place;
}

function parsed(range: string): { name: string; weight: number } {
  const [name = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
  const told = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
  const weight = told === undefined ? 1 : Number(told);
  return { name, weight: weight >= 0 && weight <= 1 ? weight : 0 };
}

/** The most exact range that a type falls under decides. */
function rated(
  ranges: readonly { name: string; weight: number; place: number }[],
  kind: string,
  type: string,
): Rating {
  for (const [less, name] of [`${kind}/${type}`, `${kind}/*`, "*/*"].entries()) {
    const found = ranges.find((range) => range.name === name);
    if (found !== undefined) return { weight: found.weight, exactness: 2 - less, place: found.place };
  }
  return { weight: 0, exactness: 0, place: 0 };
}
