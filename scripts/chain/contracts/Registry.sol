// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Stands for 0x's deployer and registry, written from its README: it tells which contract is the genuine settler of a
/// feature, as an ERC-721 tells who owns a token. A call that reverts means that the feature is paused.
contract Registry {
    error NoDeployment(uint256 feature);

    /// What takers submit themselves.
    uint256 private constant TAKER_SUBMITTED = 2;

    mapping(uint256 => address) private _current;
    mapping(uint256 => address) private _previous;

    constructor(address settler) {
        _current[TAKER_SUBMITTED] = settler;
    }

    function ownerOf(uint256 tokenId) external view returns (address) {
        return _known(_current[tokenId], tokenId);
    }

    /// The one before: quotes name it for a while after a new one was deployed.
    function prev(uint128 featureId) external view returns (address) {
        return _known(_previous[featureId], featureId);
    }

    function _known(address settler, uint256 feature) private pure returns (address) {
        if (settler == address(0)) revert NoDeployment(feature);
        return settler;
    }
}
