// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

interface IPermit2 {
    struct TokenPermissions {
        address token;
        uint256 amount;
    }

    struct PermitTransferFrom {
        TokenPermissions permitted;
        uint256 nonce;
        uint256 deadline;
    }

    struct SignatureTransferDetails {
        address to;
        uint256 requestedAmount;
    }

    function permitTransferFrom(
        PermitTransferFrom memory permit,
        SignatureTransferDetails calldata transferDetails,
        address owner,
        bytes calldata signature
    ) external;
}

/// Does whatever its call data says: what a settler could be made to do by a quote that nobody honest wrote.
contract Puppet {
    IPermit2 private constant PERMIT2 = IPermit2(0x000000000022D473030F116dDEE9F6B43aC78BA3);

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

    receive() external payable {}

    /// Takes what the permit allows, unless `take.token` is zero, then makes the calls.
    function run(Take calldata take, Step[] calldata steps) external payable {
        if (take.token != address(0)) {
            PERMIT2.permitTransferFrom(
                IPermit2.PermitTransferFrom(
                    IPermit2.TokenPermissions(take.token, take.permitted),
                    take.nonce,
                    take.deadline
                ),
                IPermit2.SignatureTransferDetails(take.recipient, take.requested),
                msg.sender,
                _appendedSignature()
            );
        }
        for (uint256 i; i < steps.length; i++) {
            (bool succeeded, ) = steps[i].to.call{value: steps[i].value}(steps[i].data);
            require(succeeded || !steps[i].mustSucceed, "step failed");
        }
    }

    /// The signature is the call data's end: its length word, then 65 bytes.
    function _appendedSignature() private pure returns (bytes calldata) {
        return msg.data[msg.data.length - 65:];
    }
}
