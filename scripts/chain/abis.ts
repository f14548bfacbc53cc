import { parseAbi } from "viem";

/** Functions of the local chain's contracts that scripts and tests call; the tokens' usual functions are in viem's erc20Abi. */

export const faucetAbi = parseAbi(["function mint(address to, uint256 value)"]);

export const wethAbi = parseAbi(["function deposit() payable", "function withdraw(uint256 wad)"]);

export const feedAbi = parseAbi([
  "function decimals() view returns (uint8)",
  "function description() view returns (string)",
  "function latestRoundData() view returns (uint80, int256, uint256, uint256, uint80)",
]);

export const settlerAbi = parseAbi([
  "struct AllowedSlippage { address recipient; address buyToken; uint256 minAmountOut; }",
  "function execute(AllowedSlippage slippage, bytes[] actions, bytes32 zid) payable returns (bool)",
  "error ActionInvalid(uint256 i, bytes4 action)",
  "error TooMuchSlippage(address token, uint256 expected, uint256 actual)",
  "error MsgValueMismatch(uint256 expected, uint256 actual)",
  "error SignatureExpired(uint256 deadline)",
  "error ConfusedDeputy()",
]);

/** The settler's actions, which are never called but encoded as calls. */
export const actionsAbi = parseAbi([
  "struct TokenPermissions { address token; uint256 amount; }",
  "struct PermitTransferFrom { TokenPermissions permitted; uint256 nonce; uint256 deadline; }",
  "function TRANSFER_FROM(address recipient, PermitTransferFrom permit, bytes signature)",
  "function NATIVE_CHECK(uint256 deadline, uint256 msgValue)",
  "function BASIC(address sellToken, uint256 bps, address pool, uint256 offset, bytes data)",
]);

export const poolAbi = parseAbi([
  "function swap(address sellToken, uint256 sellAmount, address buyToken) payable",
  "function quote(address sellToken, address buyToken, uint256 sellAmount) view returns (uint256 buyAmount, uint256 fee)",
  "error WrongValue(uint256 value, uint256 expected)",
  "error NoPrice()",
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
