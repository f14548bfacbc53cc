import convexPlugin from "@convex-dev/eslint-plugin";
import regexp from "eslint-plugin-regexp";
import tseslint from "typescript-eslint";

/**
 * What Oxlint (.oxlintrc.json), which lints everything, has no rules for: the platform, and what texts may cost. Nothing
 * here asks for types, which would take longer to work out than all the rest; the plugin's rules that do are told by
 * their syntax below.
 */
export default tseslint.config(
  { ignores: ["convex/_generated/"] },
  {
    files: ["convex/**/*.ts"],
    extends: [tseslint.configs.base, ...convexPlugin.configs.recommended],
    plugins: { regexp },
    rules: {
      // Texts come from strangers: no regular expression may take more than linear time, wherever it begins to look.
      "regexp/no-super-linear-backtracking": ["error", { report: "potential" }],
      "regexp/no-super-linear-move": ["error", { report: "potential" }],
      "@convex-dev/import-wrong-runtime": "error",
      "@convex-dev/explicit-table-ids": "off",
      "@convex-dev/no-filter-in-query": "off",
      "no-restricted-syntax": ["error", ...readsOfTables()],
    },
  },
  {
    // An action inside an action takes a second of the deployment's 64 places while its caller keeps the first: so many
    // requests at once would wait for one another. Work on the schedule, of which few run at once, may.
    files: ["convex/**/*.ts"],
    ignores: [
      "convex/wallets/transactions/driver.ts",
      "convex/signals/{issuing,outcomes}.ts",
      "convex/bot/work.ts",
      // A picture is drawn by an action of its own, whose end is not the card's.
      "convex/messenger/outbox.ts",
      "convex/lib/jobs.ts",
    ],
    rules: {
      "no-restricted-syntax": [
        "error",
        ...readsOfTables(),
        {
          selector: "MemberExpression[property.name='runAction']",
          message: "Call a plain function, loaded by `await import(...)` where it is heavy.",
        },
      ],
    },
  },
);

function readsOfTables() {
  return [
    {
      selector: "CallExpression[callee.property.name='collect'][arguments.length=0]",
      message: "A table grows: take so many rows, or page through them.",
    },
    {
      selector:
        "CallExpression[callee.property.name='filter'][callee.object.callee.property.name=/^(query|withIndex|withSearchIndex|fullTableScan|order)$/]",
      message: "It reads what it leaves out: use an index.",
    },
    ...[
      ["get|delete", 1],
      ["patch|replace", 2],
    ].map(([names, length]) => ({
      selector: `CallExpression[callee.object.property.name='db'][callee.property.name=/^(${names})$/][arguments.length=${length}]`,
      message: "Name the table first.",
    })),
  ];
}
