import { OperatorError } from "../command";
/** A placeholder, in the forms of clients and shells, that nobody has filled in. */
const PLACEHOLDER = /^(?:\$\{[^}]*\}|\$\w+|%\w+%|\{\{[^}]*\}\}|<[^>]*>)$/;

/**
 * The service's address: `NOELCLAW_CONVEX_URL` if it is set, otherwise the built-in one; without trailing slashes.
 * A placeholder that the client has not filled in counts as unset.
 * @throws OperatorError naming what is wrong with the setting.
 */
export function getServiceUrl(setting: string | undefined, builtIn: string): string {
  const given = setting?.trim() ?? "";
  const address = given === "" || PLACEHOLDER.test(given) ? builtIn : given;
  if (!URL.canParse(address)) refuse("is not an address such as https://example.convex.site");
  const url = new URL(address);
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    refuse("must be an address that begins with http:// or https://");
  }
  if (url.username !== "" || url.password !== "") refuse("must not hold a user name or password");
  if (url.search !== "" || url.hash !== "") refuse("must be an address without ? and #");
  return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
}

function refuse(problem: string): never {
  throw new OperatorError(`NOELCLAW_CONVEX_URL ${problem}`);
}
