// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Code that takes the place of a token's: keeps a share of every transfer, and calls somebody in the middle of it.
/// Balances and allowances are where OpenZeppelin's ERC20 has them, so that what was held before is held still.
contract HostileToken {
    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;
    /// The slots of the token whose place this takes.
    uint256[50] private _others;
    uint256 public feeBps;
    address public hook;
    bytes public hookData;

    function approve(address spender, uint256 value) external returns (bool) {
        allowance[msg.sender][spender] = value;
        emit Approval(msg.sender, spender, value);
        return true;
    }

    function transfer(address to, uint256 value) external returns (bool) {
        _move(msg.sender, to, value);
        return true;
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        allowance[from][msg.sender] -= value;
        _move(from, to, value);
        return true;
    }

    function behave(uint256 fee, address called, bytes calldata data) external {
        feeBps = fee;
        hook = called;
        hookData = data;
    }

    function _move(address from, address to, uint256 value) private {
        uint256 fee = (value * feeBps) / 10_000;
        balanceOf[from] -= value;
        balanceOf[to] += value - fee;
        emit Transfer(from, to, value - fee);
        if (hook != address(0)) hook.call(hookData);
    }
}
