// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// cbBTC for local use.
contract Cbbtc is ERC20 {
    address private immutable FAUCET;

    constructor(address faucet) ERC20("Coinbase Wrapped BTC", "cbBTC") {
        FAUCET = faucet;
    }

    function decimals() public pure override returns (uint8) {
        return 8;
    }

    function mint(address to, uint256 value) external {
        require(msg.sender == FAUCET, "Cbbtc: caller is not the faucet");
        _mint(to, value);
    }
}
