import { readdirSync, readFileSync } from "node:fs";
import ts from "typescript";

/** The service's own source files, parsed. */

export type Source = { file: string; parsed: ts.SourceFile };

let parsed: Source[] | undefined;

export function sources(): Source[] {
  parsed ??= readdirSync("convex", { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.startsWith("_generated"))
    .map((file) => ({
      file: `convex/${file}`,
      parsed: ts.createSourceFile(file, readFileSync(`convex/${file}`, "utf8"), ts.ScriptTarget.Latest, true),
    }));
  return parsed;
}

/** All nodes of one kind, and where each is. */
export function nodesOf<Kind extends ts.Node>(
  { file, parsed }: Source,
  is: (node: ts.Node) => node is Kind,
): { node: Kind; where: string }[] {
  const found: { node: Kind; where: string }[] = [];
  const visit = (node: ts.Node): void => {
    if (is(node)) {
      const { line } = parsed.getLineAndCharacterOfPosition(node.getStart());
      found.push({ node, where: `${file}:${line + 1}` });
    }
    ts.forEachChild(node, visit);
  };
  visit(parsed);
  return found;
}
