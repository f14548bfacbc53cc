/**
 * Writes what tables store of the shapes that callers see, as validators in code: `npm run codegen`. The shapes are zod's,
 * whose code and whose building of objects every function call would pay for that touches such a table.
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import type { GenericValidator } from "convex/values";
import { STORED } from "./storedShapes";

/** Fewer fields are written again. */
const LEAST_SHARED = 3;

const convex = fileURLToPath(new URL("../convex", import.meta.url));
const files = Object.entries(STORED).map(([file, { from, parts = {}, validators }]) => {
  const path = join(convex, `${file}.ts`);
  const named: Named = { codes: new Map(), objects: [] };
  const lines = Object.entries({ ...parts, ...validators }).map(([name, one]) => {
    const code = required(one, named);
    named.codes.set(code, name);
    if (one.kind === "object") named.objects.push({ name, fields: fieldsOf(one, named) });
    named.objects.sort((a, b) => b.fields.size - a.fields.size);
    return `${name in validators ? "export " : ""}const ${name} = ${code};`;
  });
  const head = [
    `import { v } from "convex/values";`,
    ...(lines.some((line) => line.includes("literals(")) ? [importOfLiterals(file)] : []),
    `/** What is stored of the shapes of \`${from}\`. Written by \`npm run codegen\`; a test holds both against one another. */`,
  ];
  writeFileSync(path, [...head, ...lines, ""].join("\n\n"));
  return path;
});
const require = createRequire(import.meta.url);
const formatter = join(dirname(require.resolve("oxfmt/package.json")), "bin/oxfmt");
execFileSync(process.execPath, [formatter, ...files], { stdio: "inherit" });

/** What is written already: names by their code, and the fields of objects, the largest first. */
type Named = { codes: Map<string, string>; objects: { name: string; fields: Map<string, string> }[] };

/** A validator as the code that makes it, or the name of an earlier one that is the same. */
function codeOf(validator: GenericValidator, named: Named): string {
  const code = required(validator, named);
  const short = named.codes.get(code) ?? code;
  return validator.isOptional === "optional" ? `v.optional(${short})` : short;
}

function fieldsOf({ fields }: { fields: Record<string, GenericValidator> }, named: Named) {
  return new Map(Object.entries(fields).map(([name, one]) => [name, codeOf(one, named)]));
}

/** The fields of an object, those of an earlier one by its name. */
function written(fields: Map<string, string>, { objects }: Named): string {
  const left = new Map(fields);
  const spread = objects.flatMap(({ name, fields: earlier }) => {
    const isPart = [...earlier].every(([field, code]) => left.get(field) === code);
    if (earlier.size < LEAST_SHARED || !isPart) return [];
    for (const field of earlier.keys()) left.delete(field);
    return [`...${name}.fields`];
  });
  return [...spread, ...Array.from(left, ([field, code]) => `${field}: ${code}`)].join(", ");
}

function required(validator: GenericValidator, named: Named): string {
  const list = (all: readonly GenericValidator[]) => all.map((one) => codeOf(one, named)).join(", ");
  switch (validator.kind) {
    case "object": {
      const fields = written(fieldsOf(validator, named), named);
      return /^\.\.\.(\w+)\.fields$/.exec(fields)?.[1] ?? `v.object({ ${fields} })`;
    }
    case "union": {
      const members: GenericValidator[] = validator.members;
      const values = members.flatMap((one) => (one.kind === "literal" ? [JSON.stringify(one.value)] : []));
      return values.length === members.length
        ? `literals(${values.join(", ")})`
        : `v.union(${list(members)})`;
    }
    case "array":
      return `v.array(${codeOf(validator.element, named)})`;
    case "record":
      return `v.record(${list([validator.key, validator.value])})`;
    case "literal":
      return `v.literal(${JSON.stringify(validator.value)})`;
    case "float64":
      return "v.number()";
    case "string":
    case "boolean":
    case "null":
      return `v.${validator.kind}()`;
    default:
      throw new Error(`Nothing stored by a shape is of the kind ${validator.kind}`);
  }
}

function importOfLiterals(file: string): string {
  return `import { literals } from "${posix.relative(posix.dirname(file), "lib/literals")}";`;
}
