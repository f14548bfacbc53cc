import { parseAbi } from "viem";

/** What scripts and tests call of the local chain's contracts; the tokens' usual functions are in viem's erc20Abi. */

export const faucetAbi = parseAbi(["function mint(address to, uint256 value)"]);

export const wethAbi = parseAbi(["function deposit() payable", "function withdraw(uint256 wad)"]);

export const feedAbi = parseAbi([
  "function decimals() view returns (uint8)",
  "function description() view returns (string)",
  "function latestRoundData() view returns (uint80, int256, uint256, uint256, uint80)",
]);

export const settlerAbi = parseAbi([
  "function settle(address sellToken, uint256 sellAmount, address buyToken, uint256 minBuyAmount, address recipient, uint256 nonce, uint256 deadline) payable",
  "function quote(address sellToken, address buyToken, uint256 sellAmount) view returns (uint256 buyAmount, uint256 fee)",
  "error SignatureMissing(uint256 dataLength)",
  "error SignatureLength(uint256 announced, uint256 present)",
  "error WrongValue(uint256 value, uint256 expected)",
  "error TooLittleReceived(uint256 amount, uint256 minimum)",
  "error DeadlinePassed(uint256 deadline)",
]);

export const registryAbi = parseAbi([
  "function ownerOf(uint256 tokenId) view returns (address)",
  "function prev(uint128 featureId) view returns (address)",
  "error NoDeployment(uint256 feature)",
]);

export const permit2Abi = parseAbi([
  "function nonceBitmap(address owner, uint256 word) view returns (uint256)",
  "function DOMAIN_SEPARATOR() view returns (bytes32)",
  "error InvalidNonce()",
  "error InvalidSigner()",
  "error InvalidSignature()",
  "error InvalidSignatureLength()",
  "error InvalidAmount(uint256 maxAmount)",
  "error SignatureExpired(uint256 signatureDeadline)",
]);

export const usdcAbi = parseAbi([
  "function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)",
  "function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)",
  "function receiveWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)",
  "function cancelAuthorization(address authorizer, bytes32 nonce, bytes signature)",
  "function authorizationState(address authorizer, bytes32 nonce) view returns (bool)",
  "function DOMAIN_SEPARATOR() view returns (bytes32)",
]);
