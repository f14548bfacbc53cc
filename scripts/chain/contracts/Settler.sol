// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ISignatureTransfer as IPermit2} from "@uniswap/v4-periphery/lib/permit2/src/interfaces/ISignatureTransfer.sol";

/// A stand-in for 0x's settler of swaps that their taker submits, for local use: the same `execute`, the same reading of
/// its actions, the same slippage check. Of the actions it knows the three that a swap needs here: it takes the sold
/// token by a permit, checks what ether came, and calls a pool. It guards nothing that 0x's does not guard.
contract Settler {
    using SafeERC20 for IERC20;

    struct AllowedSlippage {
        address payable recipient;
        IERC20 buyToken;
        uint256 minAmountOut;
    }

    error ActionInvalid(uint256 i, bytes4 action);
    error TooMuchSlippage(IERC20 token, uint256 expected, uint256 actual);
    error MsgValueMismatch(uint256 expected, uint256 actual);
    error SignatureExpired(uint256 deadline);
    error ConfusedDeputy();

    IPermit2 private constant PERMIT2 = IPermit2(0x000000000022D473030F116dDEE9F6B43aC78BA3);
    /// What swap providers write for ether.
    IERC20 private constant NATIVE = IERC20(0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE);
    uint256 private constant BASIS = 10_000;

    /// TRANSFER_FROM(address recipient, PermitTransferFrom permit, bytes signature)
    bytes4 private constant TRANSFER_FROM = 0xc1fb425e;
    /// NATIVE_CHECK(uint256 deadline, uint256 msgValue)
    bytes4 private constant NATIVE_CHECK = 0xbd01c226;
    /// BASIC(address sellToken, uint256 bps, address pool, uint256 offset, bytes data)
    bytes4 private constant BASIC = 0x38c9c147;

    receive() external payable {}

    /// Carries out the actions, then pays the recipient what they have gained of the bought token: at least the minimum,
    /// unless token and minimum are both zero, which asks for no check and no payment.
    function execute(
        AllowedSlippage calldata slippage,
        bytes[] calldata actions,
        bytes32 /* zid */
    ) external payable returns (bool) {
        (address payable recipient, IERC20 token, uint256 minimum) = (
            slippage.recipient,
            slippage.buyToken,
            slippage.minAmountOut
        );
        bool isChecked = minimum != 0 || address(token) != address(0);
        uint256 before = isChecked ? _held(token) - (token == NATIVE ? msg.value : 0) : 0;
        for (uint256 i; i < actions.length; i++) {
            (bytes4 action, bytes calldata data) = _actionOf(actions, i);
            // The taker's permit is the first action's alone.
            if (action == TRANSFER_FROM && i == 0) _transferFrom(data);
            else if (action == NATIVE_CHECK) _checkNative(data);
            else if (action == BASIC) _callPool(data);
            else revert ActionInvalid(i, action);
        }
        if (!isChecked) return true;
        uint256 held = _held(token);
        uint256 gained = held > before ? held - before : 0;
        if (gained < minimum) revert TooMuchSlippage(token, minimum, gained);
        if (gained > 0) _pay(token, recipient, gained);
        return true;
    }

    function _transferFrom(bytes calldata data) private {
        (address recipient, IPermit2.PermitTransferFrom memory permit, bytes memory signature) = abi.decode(
            data,
            (address, IPermit2.PermitTransferFrom, bytes)
        );
        PERMIT2.permitTransferFrom(
            permit,
            IPermit2.SignatureTransferDetails(recipient, permit.permitted.amount),
            msg.sender,
            signature
        );
    }

    function _checkNative(bytes calldata data) private view {
        (uint256 deadline, uint256 value) = abi.decode(data, (uint256, uint256));
        if (block.timestamp > deadline) revert SignatureExpired(deadline);
        if (msg.value > value) revert MsgValueMismatch(value, msg.value);
    }

    /// Calls a pool with a share of what is held of a token, which is written into the call's data at an offset.
    function _callPool(bytes calldata data) private {
        (IERC20 sellToken, uint256 bps, address pool, uint256 offset, bytes memory callData) = abi.decode(
            data,
            (IERC20, uint256, address, uint256, bytes)
        );
        if (pool == address(PERMIT2)) revert ConfusedDeputy();
        uint256 value;
        if (address(sellToken) != address(0)) {
            uint256 amount = (_held(sellToken) * bps) / BASIS;
            if (sellToken == NATIVE) value = amount;
            else if (address(sellToken) != pool) sellToken.forceApprove(pool, amount);
            if (offset != 0) {
                require(offset + 32 <= callData.length);
                assembly ("memory-safe") {
                    mstore(add(add(callData, 32), offset), amount)
                }
            }
        }
        (bool succeeded, bytes memory reason) = pool.call{value: value}(callData);
        if (!succeeded) _revertWith(reason);
    }

    function _held(IERC20 token) private view returns (uint256) {
        return token == NATIVE ? address(this).balance : token.balanceOf(address(this));
    }

    function _pay(IERC20 token, address payable recipient, uint256 amount) private {
        if (token != NATIVE) {
            token.safeTransfer(recipient, amount);
            return;
        }
        (bool paid, bytes memory reason) = recipient.call{value: amount}("");
        if (!paid) _revertWith(reason);
    }

    /// Reads an action with less care than the compiler would: its length may reach beyond the end of the call's data,
    /// where zeros are read. That is how a quote leaves room for the permit's signature: its first action stands last,
    /// and names the end of the data as the place of the signature, whose length word and bytes are appended there.
    function _actionOf(
        bytes[] calldata actions,
        uint256 i
    ) private pure returns (bytes4 action, bytes calldata data) {
        assembly ("memory-safe") {
            let at := add(actions.offset, calldataload(add(actions.offset, shl(5, i))))
            action := and(calldataload(add(at, 32)), shl(224, 0xffffffff))
            data.offset := add(at, 36)
            data.length := sub(calldataload(at), 4)
        }
    }

    function _revertWith(bytes memory reason) private pure {
        assembly ("memory-safe") {
            revert(add(reason, 32), mload(reason))
        }
    }
}
