/** What the SDK takes from its platform: this server asks its clients for nothing, so that there is nothing to validate. */

export { default as process } from "node:process";

export class DefaultJsonSchemaValidator {
  getValidator(): never {
    throw new Error("This server asks its clients for nothing");
  }
}
