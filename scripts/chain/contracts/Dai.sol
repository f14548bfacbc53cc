// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Permit.sol";

/// DAI for local use.
contract Dai is ERC20, ERC20Permit {
    address private immutable FAUCET;

    constructor(address faucet) ERC20("Dai Stablecoin", "DAI") ERC20Permit("Dai Stablecoin") {
        FAUCET = faucet;
    }

    function mint(address to, uint256 value) external {
        require(msg.sender == FAUCET, "Dai: caller is not the faucet");
        _mint(to, value);
    }
}
