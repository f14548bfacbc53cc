import convexPlugin from "@convex-dev/eslint-plugin";
import js from "@eslint/js";
import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["node_modules/", "dist/", ".local/", "convex/_generated/", "tests/clients/"] },
  js.configs.recommended,
  ...tseslint.configs.recommendedTypeChecked,
  ...convexPlugin.configs.recommended,
  {
    languageOptions: {
      parserOptions: {
        projectService: { allowDefaultProject: ["eslint.config.js", "scripts/*.mjs"] },
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/no-non-null-assertion": "error",
      "@typescript-eslint/no-explicit-any": "error",
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
    },
  },
  {
    files: ["convex/**/*.ts"],
    rules: {
      "@convex-dev/no-collect-in-query": "error",
      "@convex-dev/import-wrong-runtime": "error",
    },
  },
  {
    // An action inside an action takes a second of the deployment's 64 places while its caller keeps the first: so many
    // requests at once would wait for one another. Work on the schedule, of which few run at once, may.
    files: ["convex/**/*.ts"],
    ignores: ["convex/wallets/driver.ts", "convex/signals/{issuing,outcomes}.ts", "convex/bot/work.ts"],
    rules: {
      "no-restricted-syntax": [
        "error",
        {
          selector: "MemberExpression[property.name='runAction']",
          message: "Call a plain function, loaded by `await import(...)` where it is heavy.",
        },
      ],
    },
  },
  {
    // Vitest's asymmetric matchers are typed `any`.
    files: ["tests/**/*.ts"],
    rules: { "@typescript-eslint/no-unsafe-assignment": "off" },
  },
  {
    files: ["**/*.mjs", "eslint.config.js"],
    extends: [tseslint.configs.disableTypeChecked],
    languageOptions: {
      globals: { process: "readonly", console: "readonly", Buffer: "readonly", URL: "readonly" },
    },
  },
);
