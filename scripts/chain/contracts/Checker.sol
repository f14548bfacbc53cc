// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Not placed on any chain: nodes that cannot simulate a transaction are sent this as the code of the wallet for one
/// `eth_call`. It makes the wallet's call and reports what was read before and after it.
contract Checker {
    receive() external payable {}

    function check(
        address to,
        uint256 value,
        bytes calldata data,
        address reader,
        bytes calldata reading
    ) external returns (bool succeeded, bytes memory result, bytes memory before, bytes memory behind) {
        (, before) = reader.call(reading);
        (succeeded, result) = to.call{value: value}(data);
        (, behind) = reader.call(reading);
    }

    /// A wallet that has code is asked about its signatures (ERC-1271): those of its own key are valid.
    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        if (signature.length != 65) return 0xffffffff;
        bytes32 r = bytes32(signature[0:32]);
        bytes32 s = bytes32(signature[32:64]);
        return ecrecover(hash, uint8(signature[64]), r, s) == address(this) ? bytes4(0x1626ba7e) : bytes4(0xffffffff);
    }
}
