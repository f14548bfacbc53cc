import type { MountedEndpoint } from "../../convex/platform/http/endpoint";
import { about } from "./about";
import { PROXY_PATH, TITLE, TOOLS_PATH } from "../../convex/lib/version";

/** The page for language models. Pure. */

/** @param server The endpoints' address, without a slash at its end. */
export function llmsText(domains: Record<string, readonly MountedEndpoint[]>, server: string): string {
  const listed = Object.entries(domains).map(([tag, endpoints]) => {
    const lines = endpoints.map(
      ({ methods, path, summary }) => `- [${methods.join(" or ")} ${path}](${server}${path}): ${summary}`,
    );
    return `## ${tag.charAt(0).toUpperCase()}${tag.slice(1)}\n\n${about.tags[tag] ?? ""}\n\n${lines.join("\n")}`;
  });
  return [
    `# ${TITLE}`,
    `> ${about.info.summary}`,
    `Every field and answer: [openapi.json](${server}/openapi.json) for programs, [docs](${server}/docs) to read.`,
    `The same as tools for AI clients, over MCP: at ${server}${TOOLS_PATH} (Streamable HTTP, no login), or by [one program](${server}${PROXY_PATH}) for Node 20, with NOELCLAW_CONVEX_URL=${server}.`,
    ...about.info.description.split("\n\n").slice(0, 3),
    ...listed,
    "",
  ].join("\n\n");
}
