/** Which format a caller prefers, by the `Accept` header (RFC 9110, 12.5.1). Pure. */

type Rating = {
  /** 0 to 1; 0 means refused. */
  weight: number;
  /** 2: the exact type, 1: its group (`text/*`), 0: anything. */
  exactness: number;
  /** Its place in the header. */
  place: number;
};

/** Whether the caller prefers HTML to JSON: by weight, then by exactness, then by order. JSON if there is no preference. */
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
  const quality = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
  const weight = quality === undefined ? 1 : Number(quality);
  return { name, weight: weight >= 0 && weight <= 1 ? weight : 0 };
}

/** The most exact range that matches a type decides. */
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
