import type { MountedEndpoint } from "../../lib/http/endpoint";
import { ICON } from "../html";
import { TITLE } from "../version";
import { about } from "./about";

/** Small texts for programs that come by: models, crawlers, browsers. Pure. */

/** @param server Where the endpoints are, without a slash at its end. */
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
    ...about.info.description.split("\n\n").slice(0, 3),
    ...listed,
    "",
  ].join("\n\n");
}

export const ROBOTS = `User-agent: *
Disallow: /mcp/
Disallow: /agent/
Disallow: /alerts
Disallow: /user/
Disallow: /messenger/
Allow: /
`;

export const FAVICON = decodeURIComponent(ICON.slice(ICON.indexOf(",") + 1));
