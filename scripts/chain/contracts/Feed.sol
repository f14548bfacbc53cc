// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// A price feed for local use, in the shape of Chainlink's AggregatorV3Interface. Nobody can write to it: the chain's
/// keeper sets its one storage slot from outside.
contract Feed {
    uint256 public constant version = 4;
    /// Round ids of a proxy hold the phase above 64 bits.
    uint80 private constant PHASE = 1 << 64;

    uint8 public immutable decimals;
    /// Up to 31 characters, padded with zeros.
    bytes32 private immutable LABEL;

    /// Slot 0: 192 bits of answer, and above them 64 bits of the time it was written.
    int192 private answer;
    uint64 private updatedAt;

    constructor(uint8 decimals_, bytes32 label) {
        decimals = decimals_;
        LABEL = label;
    }

    function description() external view returns (string memory) {
        uint256 length;
        while (length < 32 && LABEL[length] != 0) length++;
        bytes memory text = new bytes(length);
        for (uint256 i; i < length; i++) text[i] = LABEL[i];
        return string(text);
    }

    function aggregator() external view returns (address) {
        return address(this);
    }

    function latestRoundData() public view returns (uint80, int256, uint256, uint256, uint80) {
        require(updatedAt != 0, "No data present");
        uint80 round = PHASE | updatedAt;
        return (round, answer, updatedAt, updatedAt, round);
    }

    function latestAnswer() external view returns (int256) {
        return answer;
    }

    function getRoundData(uint80 roundId) external view returns (uint80, int256, uint256, uint256, uint80) {
        require(roundId == PHASE | updatedAt, "No data present");
        return latestRoundData();
    }
}
