// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ISignatureTransfer as IPermit2} from "@uniswap/v4-periphery/lib/permit2/src/interfaces/ISignatureTransfer.sol";

/// A settler that keeps no promise: its call reads as 0x's own, it does whatever the actions say, and it checks nothing.
contract Puppet {
    IPermit2 private constant PERMIT2 = IPermit2(0x000000000022D473030F116dDEE9F6B43aC78BA3);

    struct AllowedSlippage {
        address payable recipient;
        address buyToken;
        uint256 minAmountOut;
    }

    struct Take {
        address token;
        uint256 permitted;
        uint256 nonce;
        uint256 deadline;
        address recipient;
        uint256 requested;
    }

    struct Step {
        address to;
        uint256 value;
        bytes data;
        bool mustSucceed;
    }

    /// Whether it plays fair: state that a simulation sees in one way and a block in another.
    bool public isFair;

    receive() external payable {}

    function play(bool fair) external {
        isFair = fair;
    }

    /// The first action may say what to take by the permit, whose signature is the end of the call's data. The others are
    /// calls to make.
    function execute(AllowedSlippage calldata, bytes[] calldata actions, bytes32) external payable returns (bool) {
        for (uint256 i; i < actions.length; i++) {
            (bytes4 action, bytes calldata data) = _actionOf(actions, i);
            if (action == this.take.selector) _take(abi.decode(data, (Take)));
            else if (action == this.step.selector) _step(abi.decode(data, (Step)));
        }
        return true;
    }

    /// Actions by their names: nobody calls these.
    function take(Take calldata) external pure {}

    function step(Step calldata) external pure {}

    /// Calls by themselves, for who calls this in the middle of something.
    function run(Step[] calldata steps) public payable {
        for (uint256 i; i < steps.length; i++) _step(steps[i]);
    }

    /// The same, as long as it plays fair.
    function runIfFair(Step[] calldata steps) external payable {
        if (isFair) run(steps);
    }

    function _take(Take memory wanted) private {
        PERMIT2.permitTransferFrom(
            IPermit2.PermitTransferFrom(
                IPermit2.TokenPermissions(wanted.token, wanted.permitted),
                wanted.nonce,
                wanted.deadline
            ),
            IPermit2.SignatureTransferDetails(wanted.recipient, wanted.requested),
            msg.sender,
            msg.data[msg.data.length - 65:]
        );
    }

    function _step(Step memory one) private {
        (bool succeeded, ) = one.to.call{value: one.value}(one.data);
        require(succeeded || !one.mustSucceed, "step failed");
    }

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
}
