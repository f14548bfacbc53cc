import { readdirSync, readFileSync } from "node:fs";

/** The documents of the repository, and the samples in them. */

export type Sample = { page: string; language: string; text: string };

export const PAGES: readonly string[] = [
  ...readdirSync(".").filter((name) => name.endsWith(".md")),
  ...readdirSync("docs").flatMap((name) => (name.endsWith(".md") ? [`docs/${name}`] : [])),
  ...statesPages("convex"),
  "scripts/proxy/README.md",
];

function statesPages(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return statesPages(path);
    return entry.name === "states.md" ? [path] : [];
  });
}

export const readPage = (page: string): string => readFileSync(page, "utf8");

/** The fenced samples of a page, in their order. */
export function listSamples(page: string): Sample[] {
  return [...readPage(page).matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(([, language = "", text = ""]) => ({
    page,
    language,
    text,
  }));
}

/** The commands of a shell sample: comments are dropped, continued lines are joined. */
export function listCommands({ text }: Sample): string[] {
  return text
    .replaceAll("\\\n", " ")
    .split("\n")
    .map((line) => line.replace(/(?:^|\s+)#.*$/, "").trim())
    .filter((line) => line !== "");
}

/** A command's words as a shell splits them, quotes taken off. */
export function splitWords(command: string): string[] {
  return [...command.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)].map(([word]) =>
    word.replaceAll(/'([^']*)'|"([^"]*)"/g, (_, single?: string, double?: string) => single ?? double ?? ""),
  );
}
