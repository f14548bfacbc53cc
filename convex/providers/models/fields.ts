/** Reads fields, texts and counts of values that may be anything, because each gateway writes them its own way. */

/** Reads fields of a value that may be anything. */
export function createFieldReader(value: unknown): (name: string) => unknown {
  const isObject = typeof value === "object" && value !== null;
  const fields = new Map<string, unknown>(isObject ? Object.entries(value) : []);
  return (name) => fields.get(name) ?? undefined;
}

export function getList(value: unknown, name: string): unknown[] {
  const list = createFieldReader(value)(name);
  return Array.isArray(list) ? list : [];
}

/** The text of a content: a string, or parts of which only those that are text count. */
export function extractText(content: unknown): string {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map(extractText).join("");
  const part = createFieldReader(content);
  const type = part("type");
  if (typeof type === "string" && !/^(?:output_)?text(?:_delta)?$/.test(type)) return "";
  if (part("thought") === true) return "";
  const text = part("text") ?? part("content") ?? part("parts");
  return typeof text === "object" && text !== null && !Array.isArray(text)
    ? extractText(createFieldReader(text)("value"))
    : extractText(text ?? "");
}

/** Tokens as any of the usual names give them. Whatever is in the total beside the prompt was written by the model. */
export function parseUsage(usage: unknown): { input: number; output: number; total: number } | null {
  const field = createFieldReader(usage);
  const first = (...names: string[]) =>
    names.map((name) => parseCount(field(name))).find((one) => one !== null);
  const input = first("prompt_tokens", "input_tokens", "promptTokens", "inputTokens", "promptTokenCount");
  const output = first(
    "completion_tokens",
    "output_tokens",
    "completionTokens",
    "outputTokens",
    "candidatesTokenCount",
  );
  const total = first("total_tokens", "totalTokens", "totalTokenCount");
  if (input === undefined && output === undefined && total === undefined) return null;
  const written = Math.max(output ?? 0, (total ?? 0) - (input ?? 0));
  return { input: input ?? 0, output: written, total: Math.max(total ?? 0, (input ?? 0) + written) };
}

export function parseCount(value: unknown): number | null {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) && number >= 0 ? Math.ceil(number) : null;
}
