// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// USDT for local use, as strict as any deployment of it: an allowance must be cleared before it is changed.
contract Usdt is ERC20 {
    address private immutable FAUCET;

    constructor(address faucet) ERC20("Tether USD", "USDT") {
        FAUCET = faucet;
    }

    function decimals() public pure override returns (uint8) {
        return 6;
    }

    function mint(address to, uint256 value) external {
        require(msg.sender == FAUCET, "Usdt: caller is not the faucet");
        _mint(to, value);
    }

    function approve(address spender, uint256 value) public override returns (bool) {
        require(
            value == 0 || allowance(msg.sender, spender) == 0,
            "Usdt: approve from non-zero to non-zero allowance"
        );
        return super.approve(spender, value);
    }
}
